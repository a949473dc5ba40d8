// The claims that can be reproduced, in the order in which they are shown. Each is one function,
// which measures by a workbench and comes to its own verdicts.
#pragma once

#include <span>

#include "reproduce/claim.h"
#include "reproduce/workbench.h"

namespace gradwire::reproduce {

Claim reproduce_natural(Workbench& bench);
Claim reproduce_diana(Workbench& bench);
Claim reproduce_lgreco(Workbench& bench);
Claim reproduce_lgc(Workbench& bench);
Claim reproduce_sasg(Workbench& bench);
Claim reproduce_converged(Workbench& bench);
Claim reproduce_words(Workbench& bench);

struct ClaimEntry {
  const char* name;
  const char* title;
  Claim (*reproduce)(Workbench& bench);
  bool reads_data = false;  // in the workbench's data directory
  bool is_long = false;     // takes a day and more: "all" leaves it out
};

std::span<const ClaimEntry> all_claims();

}  // namespace gradwire::reproduce
