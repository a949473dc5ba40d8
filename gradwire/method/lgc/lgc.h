// lgc: learned gradient compression. Three phases: gradients are averaged in full; then at indices
// that a leader chooses, with exact values, from which an autoencoder learns; then by its code, as
// long as that is good enough. The first layer, and tensors that are small or of one dimension, are
// always sent whole, by natural | entropy, and the last layer by topk.
#pragma once

#include <memory>
#include <vector>

#include "gradwire/collective/communicator.h"
#include "gradwire/method/lgc/options.h"
#include "gradwire/method/method.h"

namespace gradwire {

// All ranks at once. Throws Error for a model without a tensor to code, and for a topology that
// does not fit.
std::unique_ptr<Method> make_lgc(Communicator& communicator, std::vector<MethodTensor> tensors,
                                 const LgcOptions& lgc, const MethodOptions& options);

}  // namespace gradwire
