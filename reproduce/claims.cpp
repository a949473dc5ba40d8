#include "reproduce/claims.h"

namespace gradwire::reproduce {
namespace {

constexpr ClaimEntry kClaims[] = {
    {.name = "natural",
     .title = "natural compression rounds to powers of two, and loses next to nothing",
     .reproduce = reproduce_natural},
    {.name = "diana",
     .title = "differences to a shift that learns, compressed, reach the optimum",
     .reproduce = reproduce_diana,
     .reads_data = true},
    {.name = "lgreco",
     .title = "every layer its own bits, share or rank",
     .reproduce = reproduce_lgreco},
    {.name = "lgc",
     .title = "a learned code for what the workers' gradients share",
     .reproduce = reproduce_lgc},
    {.name = "sasg",
     .title = "workers that have nothing new say nothing, and others send one per cent",
     .reproduce = reproduce_sasg},
    {.name = "converged",
     .title = "networks that are trained to the end keep their accuracy",
     .reproduce = reproduce_converged,
     .is_long = true},
    {.name = "words",
     .title = "L-GreCo where layers differ: a transformer on words",
     .reproduce = reproduce_words,
     .reads_data = true,
     .is_long = true},
};

}  // namespace

std::span<const ClaimEntry> all_claims() { return kClaims; }

}  // namespace gradwire::reproduce
