// For codec tests: inputs, and one tensor through a codec, whole or cut into ranges.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/codec/scale_facts.h"

namespace gradwire {

// Every codec that tests go over: the examples, and corners that the examples leave out.
inline std::vector<std::string> tested_specs() {
  std::vector<std::string> specs = example_codec_specs();
  for (const char* more : {"natural(bits=8, bucket=100)",
                           "natural_dither(levels=1, bucket=64)",
                           "natural_dither(levels=12, norm=l2)",
                           "natural_dither(levels=100)",
                           "qsgd(bits=3)",
                           "qsgd(bits=5, bucket=112)",
                           "qsgd(bits=6, norm=l2)",
                           "qsgd(bits=7, bucket=1)",
                           "qsgd(bits=2, norm=l2, bucket=112)",
                           "qsgd(bits=8, bucket=20000)",
                           "qsgd(bits=4, norm=l1)",
                           "qsgd(bits=2, norm=l1, bucket=64)",
                           "qsgd(bits=4, norm=l3)",
                           "qsgd(bits=2, norm=l3, bucket=100)",
                           "natural_dither(levels=12, norm=l1)",
                           "natural_dither(levels=4, norm=l3)",
                           "natural(base=16) | entropy",
                           "topk(100%)",
                           "topk(30%) | qsgd(bits=4, bucket=100)",
                           "topk(10%) | sign",
                           "randk(50%)",
                           "randk(10%) | natural",
                           "randk(25%, seed=shared) | natural_dither | entropy",
                           "fp16 | entropy",
                           "bf16 | entropy",
                           "none | entropy",
                           "terngrad | entropy",
                           "sign | entropy",
                           "natural(bits=8) | entropy",
                           "threshold(0.5) | bf16",
                           "twobit(bucket=100) | entropy",
                           "twobit(bucket=20000)",
                           "topk(3%, chunk=50)",
                           "topk(20%, chunk=300) | twobit(bucket=7)"}) {
    specs.emplace_back(more);
  }
  return specs;
}

inline std::vector<float> gaussian(std::size_t n, std::uint64_t seed) {
  const RandomStream random = Rng{.seed = seed, .purpose = Purpose::data}.stream(0, 0);
  std::vector<float> values(n);
  for (std::uint32_t j = 0; j < n; ++j) {
    const double u = (random.at(2 * j) + 1.0) * 0x1p-32;
    const double angle = 6.283185307179586 * random.at(2 * j + 1) * 0x1p-32;
    values[j] = static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(angle));
  }
  return values;
}

// Values of very different sizes, as gradients have them.
inline std::vector<float> heavy_tailed(std::size_t n, std::uint64_t seed) {
  std::vector<float> values = gaussian(n, seed);
  const std::vector<float> sizes = gaussian(n, seed + 1);
  for (std::size_t j = 0; j < n; ++j) values[j] *= std::exp(2 * sizes[j]);
  return values;
}

struct CodecTest {
  explicit CodecTest(const std::string& spec) : codec(make_codec(spec)) {}

  // The payload of one range; the tensor has been measured.
  std::vector<std::byte> encode(TensorRange range, const Rng& rng, Encoded* encoded = nullptr) {
    std::vector<std::byte> payload(
        codec->payload_bytes_max(range.values.size(), scale.facts().tensor_elements));
    const Encoded result = codec->encode(scale, range, rng, payload, workspace);
    EXPECT_LE(result.bytes, payload.size());
    payload.resize(result.bytes);
    if (encoded != nullptr) *encoded = result;
    return payload;
  }

  std::vector<std::byte> encode(std::span<const float> tensor, const Rng& rng,
                                Encoded* encoded = nullptr) {
    codec->measure(tensor, rng, scale);
    return encode(TensorRange{tensor, 0}, rng, encoded);
  }

  std::vector<float> decode(std::span<const std::byte> payload, std::size_t elements) {
    std::vector<float> values(elements, -77.0f);
    const auto decoded = codec->decode(payload, values, workspace);
    EXPECT_TRUE(decoded) << codec->spec() << ": " << (decoded ? "" : decoded.error().what);
    return values;
  }

  std::vector<float> round_trip(std::span<const float> tensor, const Rng& rng,
                                Encoded* encoded = nullptr) {
    return decode(encode(tensor, rng, encoded), tensor.size());
  }

  std::unique_ptr<const Codec> codec;
  Scale scale;
  Workspace workspace;
};

inline double squared_norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return sum;
}

inline double squared_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += (double{a[j]} - b[j]) * (double{a[j]} - b[j]);
  return sum;
}

inline void expect_same_bits(std::span<const float> a, std::span<const float> b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t j = 0; j < a.size(); ++j) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(a[j]), std::bit_cast<std::uint32_t>(b[j]))
        << "element " << j << ": " << a[j] << " and " << b[j];
  }
}

// Real gradients of a ResNet-20, where they are at hand; otherwise empty.
inline std::vector<float> real_gradient(int step) {
  char name[64];
  std::snprintf(name, sizeof(name), "resnet20_cifar10_step%04d_worker0.f32", step);
  const auto path = std::filesystem::path("../shared/data/gradients") / name;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  std::vector<float> values(static_cast<std::size_t>(file.tellg()) / sizeof(float));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

}  // namespace gradwire
