#include "reproduce/claims.h"

namespace gradwire::reproduce {
namespace {

constexpr ClaimEntry kClaims[] = {
    {.name = "natural", .reproduce = reproduce_natural},
    {.name = "diana", .reproduce = reproduce_diana, .reads_data = true},
    {.name = "lgreco", .reproduce = reproduce_lgreco},
    {.name = "lgc", .reproduce = reproduce_lgc},
    {.name = "sasg", .reproduce = reproduce_sasg},
    {.name = "converged", .reproduce = reproduce_converged, .is_long = true},
    {.name = "words", .reproduce = reproduce_words, .reads_data = true, .is_long = true},
};

}  // namespace

std::span<const ClaimEntry> all_claims() { return kClaims; }

}  // namespace gradwire::reproduce
