#include "gradwire/collective/piece_threads.h"

#include "gradwire/kernel/copy.h"

namespace gradwire {

void PieceThreads::reserve(std::size_t piece_elements) {
  for (PieceMemory& memory : memories_) {
    if (memory.floats.size() < piece_elements) memory.floats.resize(piece_elements);
  }
}

PieceThreads::Shares PieceThreads::take_shares() {
  double encode = 0, decode = 0;
  for (PieceMemory& memory : memories_) {
    encode += memory.encode_seconds;
    decode += memory.decode_seconds;
    memory.encode_seconds = memory.decode_seconds = 0;
  }
  const double all = encode + decode;
  if (all == 0) return {};
  return {.encode = encode / all, .decode = decode / all};
}

void PieceThreads::finish_piece() { kernel::finish_streamed(); }

void PieceThreads::level_memories() {
  for (const PieceMemory& memory : memories_) {
    for (PieceMemory& other : memories_) other.workspace.grow_to(memory.workspace);
  }
}

}  // namespace gradwire
