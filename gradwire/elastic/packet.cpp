#include "gradwire/elastic/packet.h"

#include <xxhash.h>

#include <utility>

#include "gradwire/core/fields.h"

namespace gradwire::elastic {
namespace {

using membership::Member;
using membership::View;

void put(FieldWriter& out, std::uint64_t value) { out.put(value); }
void put(FieldWriter& out, std::uint32_t value) { out.put(value); }
void put(FieldWriter& out, bool value) { out.put(std::uint8_t{value}); }
void put(FieldWriter& out, const Bytes& bytes) {
  out.put_count(bytes.size());
  out.put_bytes(bytes);
}
void put(FieldWriter& out, const Hash& hash) {
  for (const std::uint64_t half : hash) out.put(half);
}
void put(FieldWriter& out, const Member& member) {
  out.put(member.id.high);
  out.put(member.id.low);
  out.put_text(member.address);
}
template <class T>
void put(FieldWriter& out, const std::vector<T>& list) {
  out.put_count(list.size());
  for (const T& element : list) put(out, element);
}
void put(FieldWriter& out, const View& view) {
  out.put(view.number);
  put(out, view.members);
}
void put(FieldWriter& out, const membership::Message& message) {
  out.put_bytes(membership::to_bytes(message));
}

void take(FieldReader& in, std::uint64_t& value) { value = in.take<std::uint64_t>(); }
void take(FieldReader& in, std::uint32_t& value) { value = in.take<std::uint32_t>(); }
void take(FieldReader& in, bool& value) {
  const auto byte = in.take<std::uint8_t>();
  if (byte > 1) in.fail("neither yes nor no", in.at() - 1);
  value = byte == 1;
}
void take(FieldReader& in, Bytes& bytes) {
  const auto taken = in.take_bytes(in.take<std::uint64_t>());
  bytes.assign(taken.begin(), taken.end());
}
void take(FieldReader& in, Hash& hash) {
  for (std::uint64_t& half : hash) half = in.take<std::uint64_t>();
}
void take(FieldReader& in, Member& member) {
  take(in, member.id.high);
  take(in, member.id.low);
  const std::size_t at = in.at();
  member.address = in.take_text();
  if (member.address.size() > membership::kAddressBytesMax) {
    in.fail("an address that is too long", at);
  }
}
template <class T>
void take(FieldReader& in, std::vector<T>& list) {
  in.take_list([&] { take(in, list.emplace_back()); });
}
void take(FieldReader& in, View& view) {
  take(in, view.number);
  take(in, view.members);
  if (view.members.size() > membership::kMembersMax) in.fail("too many members", in.at());
}

// Calls f with the fields of a packet, in their order.
template <class P, class F>
void for_fields(P& p, const F& f) {
  using T = std::remove_const_t<P>;
  if constexpr (std::is_same_v<T, Introduce>) {
    f(p.member);
  } else if constexpr (std::is_same_v<T, Description>) {
    f(p.bytes);
  } else if constexpr (std::is_same_v<T, ViewData>) {
    f(p.view), f(p.tag), f(p.bytes);
  } else if constexpr (std::is_same_v<T, FetchResult>) {
    f(p.world), f(p.step), f(p.rank);
  } else if constexpr (std::is_same_v<T, Result>) {
    f(p.world), f(p.step), f(p.rank), f(p.frames);
  } else if constexpr (std::is_same_v<T, KeepModel> || std::is_same_v<T, AskUpdates> ||
                       std::is_same_v<T, Forgotten>) {
    f(p.step);
  } else if constexpr (std::is_same_v<T, AskModel>) {
    f(p.is_any), f(p.step);
  } else if constexpr (std::is_same_v<T, Manifest>) {
    f(p.step), f(p.bytes), f(p.chunk_bytes), f(p.hashes);
  } else if constexpr (std::is_same_v<T, AskChunk>) {
    f(p.step), f(p.chunk);
  } else if constexpr (std::is_same_v<T, Chunk>) {
    f(p.step), f(p.chunk), f(p.bytes);
  } else if constexpr (std::is_same_v<T, Update>) {
    f(p.step), f(p.is_average), f(p.world), f(p.results);
  } else {
    static_assert(std::is_same_v<T, Describe>);
  }
}

Bytes with_length(FieldWriter& out) {
  store_le(out.bytes(), 0, static_cast<std::uint32_t>(out.bytes().size() - kLengthBytes));
  return out.take();
}

// --- Rules beyond the fields' own ---

template <class P>
void check(FieldReader&, const P&) {}

void check(FieldReader& in, const Manifest& manifest) {
  const std::uint64_t chunk = manifest.chunk_bytes;
  const std::uint64_t chunks = chunk == 0 ? 0 : (manifest.bytes + chunk - 1) / chunk;
  const bool fits = manifest.bytes <= std::uint64_t{1} << 48 && chunk <= kPacketBytesMax / 2;
  if (!fits || chunk == 0 || chunks != manifest.hashes.size()) {
    in.fail("another number of chunks than the length needs", in.at());
  }
}

void check(FieldReader& in, const Update& update) {
  if (update.results.size() != update.world.members.size()) {
    in.fail("another number of results than of members", in.at());
  }
}

template <class P>
Decoded<Packet> parse(FieldReader& in) {
  P packet;
  for_fields(packet, [&](auto& field) { take(in, field); });
  check(in, packet);
  if (in.failed()) return Unexpected{in.error()};
  return Packet(std::move(packet));
}

template <>
Decoded<Packet> parse<MessagePacket>(FieldReader& in) {
  GW_CHECK(false);
  return Unexpected{in.error()};
}

template <std::size_t... I>
Decoded<Packet> parse_kind(std::size_t kind, FieldReader& in, std::index_sequence<I...>) {
  Decoded<Packet> result = Unexpected{DecodeError{"an unknown kind of packet", 0}};
  (void)((kind == I && (result = parse<std::variant_alternative_t<I, Packet>>(in), true)) || ...);
  return result;
}

}  // namespace

Bytes to_bytes(const Packet& packet) {
  FieldWriter out;
  out.put(std::uint32_t{0});
  out.put(static_cast<std::uint8_t>(packet.index()));
  std::visit(
      [&](const auto& content) {
        if constexpr (std::is_same_v<std::decay_t<decltype(content)>, MessagePacket>) {
          put(out, content.message);
        } else {
          for_fields(content, [&](const auto& field) { put(out, field); });
        }
      },
      packet);
  return with_length(out);
}

Bytes view_data_bytes(std::uint64_t view, std::uint32_t tag, std::span<const std::byte> bytes) {
  FieldWriter out;
  out.put(std::uint32_t{0});
  out.put(static_cast<std::uint8_t>(Packet(ViewData{}).index()));
  out.put(view);
  out.put(tag);
  out.put_count(bytes.size());
  out.put_bytes(bytes);
  return with_length(out);
}

Decoded<Packet> parse_packet(std::span<const std::byte> bytes) {
  FieldReader in(bytes, 0);
  const auto kind = in.take<std::uint8_t>();
  if (in.failed()) return Unexpected{in.error()};
  if (kind == Packet(MessagePacket{}).index()) {
    auto message = membership::parse_message(bytes.subspan(1));
    if (!message) {
      return Unexpected{DecodeError{message.error().what, message.error().byte_offset + 1}};
    }
    return Packet(MessagePacket{std::move(*message)});
  }
  auto packet = parse_kind(kind, in, std::make_index_sequence<std::variant_size_v<Packet>>());
  if (packet && in.at() != bytes.size()) {
    return Unexpected{DecodeError{"bytes behind the end", in.at()}};
  }
  return packet;
}

Hash hash_of(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

}  // namespace gradwire::elastic
