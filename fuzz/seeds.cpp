// Writes valid inputs for every fuzz target, from which fuzzing starts: DIRECTORY/TARGET/0, 1, ...
// They are made at build time, so they always are what the encoders of today write.
//   seeds DIRECTORY
#include <sys/socket.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "data/cifar.h"
#include "fuzz/codecs.h"
#include "fuzz/decode_input.h"
#include "fuzz/lgc_indices_input.h"
#include "fuzz/parcel_input.h"
#include "fuzz/round_trip_input.h"
#include "fuzz/tcp_hello_input.h"
#include "gradwire/codec/codec.h"
#include "gradwire/codec/segments.h"
#include "gradwire/collective/counted_ranks.h"
#include "gradwire/collective/parcel.h"
#include "gradwire/core/bytes.h"
#include "gradwire/elastic/test_support.h"
#include "gradwire/file/gw_format.h"
#include "gradwire/file/npy.h"
#include "gradwire/membership/test_support.h"
#include "gradwire/method/lgc/shared_indices.h"
#include "gradwire/method/method.h"
#include "gradwire/method/state.h"
#include "gradwire/transport/channel.h"
#include "gradwire/transport/rank_info.h"
#include "gradwire/transport/tcp_hello.h"
#include "gradwire/transport/tcp_record.h"
#include "gradwire/transport/tcp_store_format.h"
#include "gradwire/transport/tls_context.h"
#include "gradwire/wire/frame.h"

namespace gradwire::fuzz {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Bytes bytes_of(std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

void append(Bytes& bytes, const Bytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

// The seeds of one target.
class SeedWriter {
 public:
  SeedWriter(const std::filesystem::path& root, const std::string& target)
      : directory_(root / target) {
    std::filesystem::create_directories(directory_);
  }

  void write(const Bytes& seed) {
    std::ofstream file(directory_ / std::to_string(count_++), std::ios::binary);
    file.exceptions(std::ios::badbit | std::ios::failbit);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
    file.close();
  }

 private:
  std::filesystem::path directory_;
  std::size_t count_ = 0;
};

// --- Tensors -------------------------------------------------------------------------------------

// Box and Muller's way from uniform to Gaussian numbers.
std::vector<float> gaussian(std::size_t elements) {
  const RandomStream random = Rng{.purpose = Purpose::data}.stream(0, 0);
  const auto uniform = [&](std::size_t i) {
    return (static_cast<double>(random.at(static_cast<std::uint32_t>(i))) + 0.5) * 0x1p-32;
  };
  std::vector<float> tensor(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    tensor[i] = static_cast<float>(std::sqrt(-2 * std::log(uniform(2 * i))) *
                                   std::cos(2 * std::numbers::pi * uniform(2 * i + 1)));
  }
  return tensor;
}

// Everything that is special about some float, among ordinary ones.
std::vector<float> unusual(std::size_t elements) {
  using Limits = std::numeric_limits<float>;
  constexpr float kUnusual[] = {
      0.0f, -0.0f, Limits::min(), -Limits::denorm_min(), Limits::max(), Limits::lowest(),
      1.0f, -0.5f};
  std::vector<float> tensor = gaussian(elements);
  for (std::size_t i = 0; i < elements; i += 3) tensor[i] = kUnusual[i / 3 % std::size(kUnusual)];
  return tensor;
}

std::vector<float> not_finite(std::size_t elements) {
  std::vector<float> tensor = gaussian(elements);
  if (elements > 0) tensor[elements / 2] = std::numeric_limits<float>::quiet_NaN();
  if (elements > 1) tensor[elements - 1] = -std::numeric_limits<float>::infinity();
  return tensor;
}

std::vector<float> zeros(std::size_t elements) { return std::vector<float>(elements); }

std::vector<std::vector<float>> some_tensors(std::size_t elements) {
  return {gaussian(elements), unusual(elements), not_finite(elements), zeros(elements)};
}

// --- What is made of them ------------------------------------------------------------------------

// Encodes ranges of one tensor.
class Encoder {
 public:
  Encoder(const Codec& codec, std::span<const float> tensor) : codec_(codec), tensor_(tensor) {
    codec_.measure(tensor_, rng_, scale_);
  }

  Bytes payload(SegmentRange range) {
    Bytes payload(codec_.payload_bytes_max(range.elements, tensor_.size()));
    const TensorRange values{tensor_.subspan(range.first, range.elements), range.first};
    payload.resize(codec_.encode(scale_, values, rng_, payload, workspace_).bytes);
    return payload;
  }

 private:
  const Codec& codec_;
  std::span<const float> tensor_;
  Rng rng_{.seed = 1};
  Scale scale_;
  Workspace workspace_;
};

Bytes decode_input(const Codec& codec, std::span<const float> tensor) {
  Bytes input(kChoiceBytes);
  store_le<std::uint16_t>(input, 0, choice_of_elements(tensor.size()));
  append(input, Encoder(codec, tensor).payload({0, tensor.size()}));
  return input;
}

Bytes round_trip_input(std::size_t codec, bool repeated, std::span<const float> tensor) {
  Bytes input(kValuesAt);
  store_le(input, kCodecAt, static_cast<std::uint8_t>(codec));
  store_le(input, kRepeatedAt, repeated ? kRepeatedFrom : std::uint8_t{0});
  store_le<std::uint64_t>(input, kSeedAt, codec * tensor.size());
  append(input, bytes_of(tensor));
  return input;
}

Bytes frame(const FrameHeader& header, const Bytes& payload) {
  Bytes frame(kFrameHeaderBytes);
  write_frame_header(header, payload, frame);
  append(frame, payload);
  return frame;
}

Bytes parcel_input(float weight, const std::vector<Bytes>& payloads) {
  std::size_t bytes = kPieceCountBytes + parcel_head_bytes(payloads.size());
  for (const Bytes& payload : payloads) bytes += payload.size();
  Bytes input(bytes);
  store_le(input, 0, static_cast<std::uint16_t>(payloads.size()));
  const auto behind_count = std::span(input).subspan(kPieceCountBytes);
  ParcelWriter parcel(behind_count, payloads.size(), weight);
  for (const Bytes& payload : payloads) {
    std::copy(payload.begin(), payload.end(), parcel.room().begin());
    parcel.add(payload.size());
  }
  return input;
}

Bytes gw_file(const Codec& codec, std::span<const float> tensor,
              const std::optional<std::vector<std::uint64_t>>& shape) {
  const Cut cut{.elements = tensor.size(),
                .bucket_elements = codec.bucket_elements(),
                .segment_elements_max = 1000};
  const std::vector<SegmentRange> segments = cut_segments(cut);
  Bytes file = gw_header_bytes({.spec = codec.spec(),
                                .shape = shape,
                                .element_count = tensor.size(),
                                .frame_count = segments.size(),
                                .seed = 1});
  Encoder encoder(codec, tensor);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    append(file, frame({.exchange = static_cast<std::uint32_t>(i),
                        .codec_fingerprint = fingerprint(codec.spec()),
                        .first_element = segments[i].first,
                        .element_count = segments[i].elements},
                       encoder.payload(segments[i])));
  }
  return file;
}

// --- Targets -------------------------------------------------------------------------------------

bool has_small_payloads(std::string_view spec) { return spec.find("entropy") != spec.npos; }

void write_decode_seeds(const std::filesystem::path& root) {
  constexpr std::size_t kLengths[] = {0, 1, 7, 65, 513, 2000};
  for (const FuzzedCodec& fuzzed : kFuzzedCodecs) {
    SeedWriter seeds(root, "decode_" + std::string(fuzzed.name));
    const auto codec = make_codec(fuzzed.spec);
    for (const std::size_t elements : kLengths) {
      for (const auto& tensor : some_tensors(elements)) seeds.write(decode_input(*codec, tensor));
    }
    seeds.write(decode_input(*codec, gaussian(8193)));
    // Zeros take few bytes, however many they are.
    if (has_small_payloads(fuzzed.spec)) {
      seeds.write(decode_input(*codec, zeros(elements_of_choice(0xffff))));
    }
  }
}

void write_example_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "example_decoders");
  const std::vector<std::string> specs = example_codec_specs();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto codec = make_codec(specs[i]);
    for (const auto& tensor : some_tensors(200)) {
      Bytes input = {static_cast<std::byte>(i)};
      append(input, decode_input(*codec, tensor));
      seeds.write(input);
    }
  }
}

void write_round_trip_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "round_trip");
  for (std::size_t codec = 0; codec < round_trip_specs().size(); ++codec) {
    for (const auto& tensor : some_tensors(200)) {
      seeds.write(round_trip_input(codec, false, tensor));
    }
    seeds.write(round_trip_input(codec, true, unusual(50)));
  }
}

void write_frame_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "frame");
  const FrameHeader header{.run = 0x0123456789abcdef,
                           .step = 300,
                           .exchange = 7,
                           .sender = 2,
                           .codec_fingerprint = fingerprint("none"),
                           .first_element = 1024,
                           .element_count = 50};
  seeds.write(frame(header, bytes_of(gaussian(50))));
  FrameHeader other = header;
  other.direction = Direction::down;
  other.poison = true;
  seeds.write(frame(other, bytes_of(not_finite(50))));
  other.direction = Direction::hop;
  other.repeat = true;
  seeds.write(frame(other, {}));
  Bytes two_frames = frame(header, bytes_of(gaussian(3)));
  append(two_frames, frame(other, {}));
  seeds.write(two_frames);
}

void write_parcel_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "parcel");
  const auto natural = make_codec("natural");
  std::vector<Bytes> payloads;
  for (const std::size_t count : {0u, 1u, 2u, 7u, 50u}) {
    while (payloads.size() < count) {
      const std::vector<float> tensor = gaussian(payloads.size() % 5 * 7);
      payloads.push_back(Encoder(*natural, tensor).payload({0, tensor.size()}));
    }
    seeds.write(parcel_input(32, payloads));
  }
  seeds.write(parcel_input(0, {bytes_of(gaussian(100))}));
  seeds.write(parcel_input(std::numeric_limits<float>::max(), {{}, bytes_of(unusual(9)), {}}));
  seeds.write(parcel_input(-1, {bytes_of(gaussian(3))}));  // refused
}

void write_counted_parcel_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "counted_parcel");
  const Bytes parcel = parcel_input(3, {bytes_of(gaussian(5)), {}, bytes_of(gaussian(2))});
  for (const std::size_t ranks : {1u, 4u, 8u, 9u, 100u}) {
    for (const std::size_t every : {1u, 3u, 200u}) {  // 200: the first one only
      CountedRanks counted(ranks);
      for (std::size_t rank = 0; rank < ranks; rank += every) counted.add(rank);
      Bytes input(kPieceCountBytes + kRankCountBytes);
      std::copy_n(parcel.begin(), kPieceCountBytes, input.begin());
      store_le(input, kPieceCountBytes, static_cast<std::uint16_t>(ranks));
      input.insert(input.end(), parcel.begin() + kPieceCountBytes, parcel.end());
      input.resize(input.size() + CountedRanks::bytes(ranks));
      counted.write(std::span(input).last(CountedRanks::bytes(ranks)));
      seeds.write(input);
    }
  }
}

void write_lgc_indices_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "lgc_indices");
  for (std::size_t i = 0; i < kIndexCodecs.size(); ++i) {
    IndexMessage message = experienced_message(i);
    std::vector<float> values(kIndexElements);
    for (std::size_t j = 0; j < values.size(); ++j) {
      values[j] = std::sin(static_cast<float>(j * j));
    }
    Bytes input = {static_cast<std::byte>(i)};
    append(input, message.write(values, {}).bytes);
    seeds.write(input);
  }
}

void write_gw_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "gw");
  for (const std::string& spec : example_codec_specs()) {
    const auto codec = make_codec(spec);
    seeds.write(gw_file(*codec, gaussian(100), std::nullopt));
  }
  const auto natural = make_codec("natural");
  seeds.write(gw_file(*natural, {}, std::vector<std::uint64_t>{3, 0, 2}));
  seeds.write(gw_file(*natural, gaussian(1), std::vector<std::uint64_t>{}));
  seeds.write(gw_file(*natural, gaussian(2400), std::vector<std::uint64_t>{2, 3, 400}));
  seeds.write(gw_file(*make_codec("qsgd(bits=2)"), gaussian(1500), std::nullopt));
}

void write_npy_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "npy");
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{}, {6}, {2, 3}, {6, 1, 1}, {0, 7}}) {
    Bytes file = npy_header(shape);
    append(file, bytes_of(gaussian(shape.empty() ? 1 : shape.front() == 0 ? 0 : 6)));
    seeds.write(file);
  }
  for (const char version : {'\2', '\3'}) {
    const std::string text = "{\"shape\": (2,), 'fortran_order': True, 'descr': '<f4'}  \n";
    Bytes file = bytes_of(std::string("\x93NUMPY") + version + '\0');
    file.resize(file.size() + sizeof(std::uint32_t));
    store_le(file, file.size() - sizeof(std::uint32_t), static_cast<std::uint32_t>(text.size()));
    append(file, bytes_of(text));
    append(file, bytes_of(gaussian(2)));
    seeds.write(file);
  }
}

void write_idx_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "idx");
  for (const std::vector<std::uint8_t>& dimensions :
       {std::vector<std::uint8_t>{5}, {1, 1, 1}, {2, 3, 4}, {1, 2, 1, 2, 1, 2, 1, 2}}) {
    Bytes file = {std::byte{0}, std::byte{0}, std::byte{8}, std::byte(dimensions.size())};
    std::size_t elements = 1;
    for (const std::uint8_t dimension : dimensions) {
      append(file, {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{dimension}});
      elements *= dimension;
    }
    append(file, Bytes(elements, std::byte{7}));
    seeds.write(file);
  }
}

void write_cifar_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "cifar");
  for (const std::size_t records : {1u, 3u}) {
    seeds.write(Bytes(records * data::kCifarRecordBytes, std::byte{9}));
  }
}

void write_state_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "state");
  seeds.write(to_bytes({}));
  MethodState state{.spec = "ef(topk(1%), down=natural)",
                    .topology = "scatter",
                    .rank = 1,
                    .ranks = 3,
                    .tensors = {{"weights", {20, 5}}, {"bias", {5}}, {"", {}}},
                    .arrays = {{"error", "weights", Sharing::worker, 0, gaussian(100)},
                               {"down", "weights", Sharing::owner, 60, unusual(40)},
                               {"replica", "bias", Sharing::replicated, 0, not_finite(5)}},
                    .numbers = {{"learning rate", 0.1}, {"steps", 1000}},
                    .blobs = {{"nothing", {}}, {"uploads", bytes_of("anything")}},
                    .is_reshared = false,
                    .only_averages = false};
  seeds.write(to_bytes(state));
  state.is_reshared = true;
  state.arrays.clear();
  seeds.write(to_bytes(state));
}

void write_membership_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "membership");
  for (const membership::Message& message : membership::example_messages()) {
    seeds.write(membership::to_bytes(message));
  }
  // As in the view that the target's member is in.
  membership::Decision decision{.view = 1, .next = membership::example_view(2, 3)};
  seeds.write(membership::to_bytes(membership::Message(membership::Go{decision})));
  seeds.write(membership::to_bytes(membership::Message(membership::Collect{1, {1, 0}, 0})));
  seeds.write(membership::to_bytes(membership::Message(membership::Propose{{1, 0}, decision})));
}

void write_packet_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "packet");
  for (const elastic::Packet& packet : elastic::example_packets()) {
    const Bytes bytes = elastic::to_bytes(packet);
    seeds.write({bytes.begin() + elastic::kLengthBytes, bytes.end()});
  }
}

void write_spec_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "spec");
  for (const std::string& spec : example_codec_specs()) seeds.write(bytes_of(spec));
  for (const FuzzedCodec& codec : kFuzzedCodecs) seeds.write(bytes_of(codec.spec));
  for (const MethodExample& example : example_methods()) seeds.write(bytes_of(example.spec));
  for (const std::string_view spec :
       {"ef(topk(1%), down=natural)", "diana(qsgd(bits=2, norm=linf), alpha=auto, down=none)",
        "sasg(topk(1%), window=10, delay=10, weight=auto, rule=worker)",
        "dgc(0.1%, values=natural)", "topk(share=1e-3)|bf16|entropy", "terngrad(clip=+1.5)",
        "natural(bits=8, bucket=1)",
        "qsgd(bits=8, norm=l2, bucket=2147483648, rounding=stochastic)",
        "natural_dither(levels=1, norm=l2)", "qsgd(bits=5,rounding=nearest)", "topk(100%)"}) {
    seeds.write(bytes_of(spec));
  }
}

void write_secret_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "secret");
  const std::string secret =
      "gradwire-secret-1 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
  seeds.write(bytes_of(secret));
  seeds.write(bytes_of(secret + "\n"));
}

// The first bytes of a rank with a secret.
void write_tls_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "tls");
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) != 0) return;
  const Descriptor tap(sockets[0]);
  Channel channel(Descriptor(sockets[1]), Channel::Role::connects,
                  std::make_shared<const TlsContext>(Secret::random()));
  channel.handshake();
  Bytes bytes(4096);
  const ssize_t count = recv(tap.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  seeds.write(bytes);
  seeds.write(bytes_of("GET / HTTP/1.1\r\n\r\n"));
}

void write_tcp_hello_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "tcp_hello");
  const auto bytes =
      TcpHello{.key = kFuzzGroupKey, .rank = 3, .peer = 1, .link = 2, .links = 4}.write();
  seeds.write({bytes.begin(), bytes.end()});
}

void write_tcp_store_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "tcp_store");
  Bytes bytes(StoreRequestHeader::kBytes);
  StoreRequestHeader{StoreRequest::add, 7, 5, 0}.write(bytes);
  append(bytes, bytes_of("hello/1there"));
  Bytes get(StoreRequestHeader::kBytes);
  StoreRequestHeader{StoreRequest::get, 7, 0, 0}.write(get);
  append(bytes, get);
  append(bytes, bytes_of("hello/1"));
  seeds.write(bytes);
}

void write_rank_info_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "rank_info");
  const auto text =
      write_rank_info({.size = 4, .streams = 2, .address = "10.0.0.3", .host = "node3"});
  seeds.write(bytes_of(std::string_view(text.data(), text.size())));
}

// Records as they are after `ready`: two messages that fit, and one that does not.
void write_tcp_stream_seeds(const std::filesystem::path& root) {
  SeedWriter seeds(root, "tcp_stream");
  Bytes bytes;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const Bytes message(i * 100, std::byte{7});
    TcpRecord::Bytes header;
    TcpRecord{.kind = TcpRecord::Kind::data,
              .tag = Tag{.lane = Lane::up}.number(),
              .sequence = i,
              .bytes = message.size()}
        .write(header);
    bytes.insert(bytes.end(), header.begin(), header.end());
    append(bytes, message);
    seeds.write(bytes);
  }
  TcpRecord::Bytes ready;
  TcpRecord{.kind = TcpRecord::Kind::ready, .tag = Tag{.lane = Lane::down}.number(), .bytes = 64}
      .write(ready);
  seeds.write({ready.begin(), ready.end()});
}

void write_all_seeds(const std::filesystem::path& root) {
  write_decode_seeds(root);
  write_example_seeds(root);
  write_round_trip_seeds(root);
  write_frame_seeds(root);
  write_parcel_seeds(root);
  write_counted_parcel_seeds(root);
  write_lgc_indices_seeds(root);
  write_gw_seeds(root);
  write_npy_seeds(root);
  write_idx_seeds(root);
  write_cifar_seeds(root);
  write_state_seeds(root);
  write_membership_seeds(root);
  write_packet_seeds(root);
  write_spec_seeds(root);
  write_secret_seeds(root);
  write_tls_seeds(root);
  write_tcp_hello_seeds(root);
  write_tcp_store_seeds(root);
  write_rank_info_seeds(root);
  write_tcp_stream_seeds(root);
}

}  // namespace
}  // namespace gradwire::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: seeds DIRECTORY\n");
    return 2;
  }
  try {
    gradwire::fuzz::write_all_seeds(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "seeds: %s\n", error.what());
    return 1;
  }
  return 0;
}
