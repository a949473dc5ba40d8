// The bytes of a method's state, as docs/wire_format.md has them: a header, what the state holds
// field by field, and a checksum over all of it.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "gradwire/core/bytes.h"
#include "gradwire/core/fields.h"
#include "gradwire/method/state.h"
#include "gradwire/wire/frame.h"

namespace gradwire {
namespace {

// As that of .gw files, but for the letter.
constexpr std::array<std::byte, 8> kMagic = {std::byte{0x89}, std::byte{'G'},  std::byte{'W'},
                                             std::byte{'S'},  std::byte{'\r'}, std::byte{'\n'},
                                             std::byte{0x1a}, std::byte{'\n'}};
constexpr std::uint16_t kVersion = 1;
constexpr std::uint16_t kResharedBit = 1 << 0;
constexpr std::uint16_t kOnlyAveragesBit = 1 << 1;

// Where each field of the header starts: the end of the one before it.
constexpr std::size_t kVersionAt = kMagic.size();
constexpr std::size_t kFlagsAt = kVersionAt + sizeof(std::uint16_t);
constexpr std::size_t kReservedAt = kFlagsAt + sizeof(std::uint16_t);
constexpr std::size_t kBytesAt = kReservedAt + sizeof(std::uint32_t);
constexpr std::size_t kRankAt = kBytesAt + sizeof(std::uint64_t);
constexpr std::size_t kRanksAt = kRankAt + sizeof(std::uint64_t);
constexpr std::size_t kHeaderBytes = kRanksAt + sizeof(std::uint64_t);
static_assert(kHeaderBytes == 40);
constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);

// --- Writing -------------------------------------------------------------------------------------

void put_header(const MethodState& state, FieldWriter& out) {
  out.put_bytes(kMagic);
  out.put(kVersion);
  out.put(static_cast<std::uint16_t>((state.is_reshared ? kResharedBit : 0) |
                                     (state.only_averages ? kOnlyAveragesBit : 0)));
  out.put(std::uint32_t{0});
  out.put(std::uint64_t{0});  // bytes: not known yet
  out.put_count(state.rank);
  out.put_count(state.ranks);
}

void put_tensor(const StateTensor& tensor, FieldWriter& out) {
  out.put_text(tensor.name);
  out.put_count(tensor.shape.size());
  for (const std::size_t length : tensor.shape) out.put_count(length);
}

void put_array(const StateArray& array, FieldWriter& out) {
  out.put_text(array.memory);
  out.put_text(array.tensor);
  out.put(static_cast<std::uint32_t>(array.sharing));
  out.put_count(array.first);
  out.put_count(array.values.size());
  out.put_bytes(std::as_bytes(std::span(array.values)));
}

// --- Reading -------------------------------------------------------------------------------------

// Whether the bytes are a whole state of this version: then what follows can only be wrong if its
// writer was.
Decoded<void> check_whole(std::span<const std::byte> bytes) {
  const std::span<const std::byte> start = bytes.first(std::min(bytes.size(), kMagic.size()));
  if (!std::equal(start.begin(), start.end(), kMagic.begin())) {
    return Unexpected{
        DecodeError{"this is not the state of a method, or it was transferred as text", 0}};
  }
  if (bytes.size() < kHeaderBytes + kChecksumBytes) {
    return Unexpected{DecodeError{"the state ends within its header", bytes.size()}};
  }
  if (load_le<std::uint16_t>(bytes, kVersionAt) != kVersion) {
    return Unexpected{DecodeError{"state of an unknown version", kVersionAt}};
  }
  const auto length = load_le<std::uint64_t>(bytes, kBytesAt);
  if (length > bytes.size()) {
    return Unexpected{DecodeError{"the state ends early", bytes.size()}};
  }
  if (length < bytes.size()) {
    return Unexpected{DecodeError{"the state is longer than it says", kBytesAt}};
  }
  const std::size_t checksum_at = bytes.size() - kChecksumBytes;
  if (load_le<std::uint64_t>(bytes, checksum_at) != checksum(bytes.first(checksum_at))) {
    return Unexpected{DecodeError{"damaged state: its checksum does not match", checksum_at}};
  }
  return {};
}

MethodState load_header(std::span<const std::byte> bytes, FieldReader& reader) {
  const auto flags = load_le<std::uint16_t>(bytes, kFlagsAt);
  if ((flags & ~(kResharedBit | kOnlyAveragesBit)) != 0)
    reader.fail("state with an unknown flag", kFlagsAt);
  if (load_le<std::uint32_t>(bytes, kReservedAt) != 0) {
    reader.fail("state whose reserved field is not 0", kReservedAt);
  }
  MethodState state;
  state.is_reshared = (flags & kResharedBit) != 0;
  state.only_averages = (flags & kOnlyAveragesBit) != 0;
  state.rank = load_le<std::uint64_t>(bytes, kRankAt);
  state.ranks = load_le<std::uint64_t>(bytes, kRanksAt);
  if (state.rank >= state.ranks)
    reader.fail("state of a rank that is not among its ranks", kRankAt);
  return state;
}

StateTensor take_tensor(FieldReader& in) {
  StateTensor tensor;
  tensor.name = in.take_text();
  in.take_list([&] { tensor.shape.push_back(in.take<std::uint64_t>()); });
  return tensor;
}

StateArray take_array(FieldReader& in) {
  StateArray array;
  array.memory = in.take_text();
  array.tensor = in.take_text();
  const std::size_t sharing_at = in.at();
  const auto sharing = in.take<std::uint32_t>();
  if (sharing < 1 || sharing > 3) in.fail("array of an unknown sharing", sharing_at);
  array.sharing = static_cast<Sharing>(sharing);
  const std::size_t first_at = in.at();
  array.first = in.take<std::uint64_t>();
  const auto elements = in.take<std::uint64_t>();
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max() / sizeof(float);
  if (elements > kMost || array.first > kMost - elements) {
    in.fail("array of too many elements", first_at);
    return array;
  }
  const std::span<const std::byte> values = in.take_bytes(elements * sizeof(float));
  array.values.resize(values.size() / sizeof(float));
  std::copy(values.begin(), values.end(), std::as_writable_bytes(std::span(array.values)).begin());
  return array;
}

// Entries of a map come in the order of their keys, each once.
template <class Value, class Take>
void take_map(FieldReader& in, std::map<std::string, Value>& map, const Take& take) {
  in.take_list([&] {
    const std::size_t key_at = in.at();
    std::string key = in.take_text();
    Value value = take();
    if (!map.empty() && key <= map.rbegin()->first) in.fail("names out of order", key_at);
    map.emplace_hint(map.end(), std::move(key), std::move(value));
  });
}

}  // namespace

std::vector<std::byte> to_bytes(const MethodState& state) {
  FieldWriter out;
  put_header(state, out);
  out.put_text(state.spec);
  out.put_text(state.topology);
  out.put_count(state.tensors.size());
  for (const StateTensor& tensor : state.tensors) put_tensor(tensor, out);
  out.put_count(state.arrays.size());
  for (const StateArray& array : state.arrays) put_array(array, out);
  out.put_count(state.numbers.size());
  for (const auto& [key, number] : state.numbers) {
    out.put_text(key);
    out.put(std::bit_cast<std::uint64_t>(number));
  }
  out.put_count(state.blobs.size());
  for (const auto& [key, blob] : state.blobs) {
    out.put_text(key);
    out.put_count(blob.size());
    out.put_bytes(blob);
  }
  store_le(out.bytes(), kBytesAt, std::uint64_t{out.bytes().size() + kChecksumBytes});
  out.put(checksum(out.bytes()));
  return out.take();
}

Decoded<MethodState> parse_state(std::span<const std::byte> bytes) {
  if (const Decoded<void> whole = check_whole(bytes); !whole) return Unexpected{whole.error()};
  const std::span<const std::byte> fields = bytes.first(bytes.size() - kChecksumBytes);
  FieldReader in(fields, kHeaderBytes);
  MethodState state = load_header(bytes, in);
  state.spec = in.take_text();
  state.topology = in.take_text();
  in.take_list([&] { state.tensors.push_back(take_tensor(in)); });
  in.take_list([&] { state.arrays.push_back(take_array(in)); });
  take_map(in, state.numbers, [&] { return std::bit_cast<double>(in.take<std::uint64_t>()); });
  take_map(in, state.blobs, [&] {
    const std::span<const std::byte> blob = in.take_bytes(in.take<std::uint64_t>());
    return std::vector<std::byte>(blob.begin(), blob.end());
  });
  if (in.failed()) return Unexpected{in.error()};
  if (in.at() != fields.size()) {
    return Unexpected{DecodeError{"more bytes behind the last field", in.at()}};
  }
  return state;
}

}  // namespace gradwire
