#include "reproduce/claims.h"

namespace gradwire::reproduce {
namespace {

constexpr ClaimEntry kClaims[] = {
    {.name = "natural",
     .title = "rounding to powers of two costs next to no accuracy",
     .reproduce = reproduce_natural},
    {.name = "diana",
     .title = "compressed differences to a learned shift reach the optimum",
     .reproduce = reproduce_diana,
     .reads_data = true},
    {.name = "lgreco",
     .title = "bits, density or rank chosen for each layer",
     .reproduce = reproduce_lgreco},
    {.name = "lgc",
     .title = "a learned code for the common part of the workers' gradients",
     .reproduce = reproduce_lgc},
    {.name = "sasg",
     .title = "workers without new information skip their uploads, the others send 1%",
     .reproduce = reproduce_sasg},
    {.name = "converged",
     .title = "accuracy of networks that are trained to convergence",
     .reproduce = reproduce_converged,
     .is_long = true},
    {.name = "words",
     .title = "L-GreCo on layers of very different sizes: a transformer on words",
     .reproduce = reproduce_words,
     .reads_data = true,
     .is_long = true},
};

}  // namespace

std::span<const ClaimEntry> all_claims() { return kClaims; }

}  // namespace gradwire::reproduce
