// topk(share, chunk=N): the largest magnitudes of every N consecutive elements, exactly. Chunks are
// counted from the tensor's start; the last one may be short.
#pragma once

#include <cstddef>

#include "gradwire/codec/sparsifier.h"

namespace gradwire {

SparsifierPtr make_chunked_topk(double share, std::size_t chunk_elements);

// What topk guarantees, together with the stage behind it, if it keeps at least this share of any
// elements that it chooses from.
Guarantee topk_guarantee(double share, const Guarantee& values);

}  // namespace gradwire
