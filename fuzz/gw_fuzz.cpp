// .gw files: any bytes are a file whose frames cover its elements, or refused with a reason. What
// parses is decoded, too, as long as it is not large.
#include <algorithm>
#include <cstring>
#include <vector>

#include "fuzz/repair.h"
#include "fuzz/target.h"
#include "gradwire/codec/codec.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/file/gw_format.h"

namespace gradwire::fuzz {
namespace {

constexpr std::uint64_t kDecodedElementsMax = 20'000;

void check_frames(const GwView& view) {
  std::uint64_t elements = 0;
  for (const GwFrame& frame : view.frames) {
    GW_CHECK(frame.frame.header.first_element == elements);
    elements += frame.frame.header.element_count;
  }
  GW_CHECK(elements == view.header.element_count);
}

void check_decoding(const GwView& view) {
  if (view.header.element_count > kDecodedElementsMax) return;
  std::unique_ptr<const Codec> codec;
  try {
    codec = make_codec(view.header.spec);
  } catch (const SpecError& error) {
    GW_CHECK(error.position() <= view.header.spec.size());
    return;
  }
  Workspace workspace;
  for (const GwFrame& frame : view.frames) {
    std::vector<float> target(frame.frame.header.element_count);
    const Decoded<void> decoded = codec->decode(frame.frame.payload, target, workspace);
    GW_CHECK(decoded || decoded.error().byte_offset <= frame.frame.payload.size());
  }
}

void check_gw(std::span<const std::byte> bytes) {
  const Decoded<GwView> view = parse_gw(bytes);
  if (!view) {
    GW_CHECK(std::strlen(view.error().what) > 0);
    GW_CHECK(view.error().byte_offset <= bytes.size());
    return;
  }
  const std::vector<std::byte> header = gw_header_bytes(view->header);
  GW_CHECK(header.size() == view->header_bytes);
  GW_CHECK(std::equal(header.begin(), header.end(), bytes.begin()));
  check_frames(*view);
  check_decoding(*view);
}

}  // namespace

void test_input(std::span<const std::byte> input) {
  check_gw(input);
  std::vector<std::byte> repaired(input.begin(), input.end());
  repair_gw(repaired);
  check_gw(repaired);
}

}  // namespace gradwire::fuzz
