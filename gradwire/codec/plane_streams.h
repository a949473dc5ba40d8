// Symbol planes as streams of bytes, which is what the entropy stage codes: one a byte of a symbol,
// lowest first; exponents have one before it for the largest of each group of 64.
//
// Two kinds of streams are condensed, a chunk at a time, before they are coded. Exponents leave out
// groups of nothing but zeros: the group's largest exponent has said it. Bits say whether they
// differ from what most bits of the group before were: signs have long runs of mostly one kind,
// since what a layer is fed is often of one sign.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gradwire/codec/block_symbols.h"
#include "gradwire/codec/plane.h"

namespace gradwire {

inline constexpr std::size_t kStreamsMax = 4;

std::size_t stream_count(const Plane& plane);
// Bytes of stream k for `count` elements; `count` is a multiple of a block, or the last.
std::size_t stream_bytes(const Plane& plane, std::size_t k, std::size_t count);

// Stream k of the block goes to, or comes from, streams[k].
void split(const Plane& plane, std::size_t count, BlockSymbols& block,
           std::span<std::uint8_t* const> streams);
void join(const Plane& plane, std::size_t count, std::span<std::uint8_t* const> streams,
          BlockSymbols& block);

// Condenses stream k of a chunk of `count` elements in place, and returns the bytes that are left.
std::size_t condense(const Plane& plane, std::size_t k, std::size_t count,
                     std::span<std::uint8_t* const> streams);
// What condense has returned, for whoever knows the streams before k.
std::size_t condensed_bytes(const Plane& plane, std::size_t k, std::size_t count,
                            std::span<std::uint8_t* const> streams);
// The way back; any bytes give some symbols.
void restore(const Plane& plane, std::size_t k, std::size_t count,
             std::span<std::uint8_t* const> streams);

}  // namespace gradwire
