// Frames: any bytes are a frame that is written back to the same bytes, or refused with a reason.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "fuzz/repair.h"
#include "fuzz/target.h"
#include "gradwire/core/check.h"
#include "gradwire/wire/frame.h"

namespace gradwire::fuzz {
namespace {

void check_frame(std::span<const std::byte> bytes) {
  const Decoded<Frame> frame = parse_frame(bytes);
  if (!frame) {
    GW_CHECK(std::strlen(frame.error().what) > 0);
    GW_CHECK(frame.error().byte_offset <= bytes.size());
    return;
  }
  GW_CHECK(frame->bytes() <= bytes.size());
  GW_CHECK(frame->payload.data() == bytes.data() + kFrameHeaderBytes);
  std::array<std::byte, kFrameHeaderBytes> written;
  write_frame_header(frame->header, frame->payload, written);
  GW_CHECK(std::equal(written.begin(), written.end(), bytes.begin()));

  const FrameHeader& header = frame->header;
  FrameExpectation expected{.run = header.run,
                            .step = header.step,
                            .exchange = header.exchange,
                            .sender = header.sender,
                            .direction = header.direction,
                            .codec_fingerprint = header.codec_fingerprint,
                            .first_element = header.first_element,
                            .element_count = header.element_count};
  GW_CHECK(verify(header, expected));
  expected.step = header.step + 1;
  GW_CHECK(!verify(header, expected));
}

}  // namespace

void test_input(std::span<const std::byte> input) {
  check_frame(input);
  std::vector<std::byte> repaired(input.begin(), input.end());
  if (repair_frame(repaired)) check_frame(repaired);
}

}  // namespace gradwire::fuzz
