#include "reproduce/claims.h"

namespace gradwire::reproduce {
namespace {

constexpr ClaimEntry kClaims[] = {
    {"natural", reproduce_natural}, {"diana", reproduce_diana}, {"lgreco", reproduce_lgreco},
    {"lgc", reproduce_lgc},         {"sasg", reproduce_sasg},
};

}  // namespace

std::span<const ClaimEntry> all_claims() { return kClaims; }

}  // namespace gradwire::reproduce
