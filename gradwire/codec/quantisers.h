// The quantisers, each made from its stage of a spec.
#pragma once

#include <memory>

#include "gradwire/codec/quantiser.h"
#include "gradwire/codec/spec.h"

namespace gradwire {

using QuantiserPtr = std::unique_ptr<const Quantiser>;

QuantiserPtr make_none(StageReader& stage);
QuantiserPtr make_fp16(StageReader& stage);
QuantiserPtr make_bf16(StageReader& stage);
QuantiserPtr make_natural(StageReader& stage);
QuantiserPtr make_natural_dither(StageReader& stage);
QuantiserPtr make_qsgd(StageReader& stage);
QuantiserPtr make_terngrad(StageReader& stage);
QuantiserPtr make_sign(StageReader& stage);

// The bucket=... argument that quantisers with buckets share.
std::size_t read_bucket(StageReader& stage);

}  // namespace gradwire
