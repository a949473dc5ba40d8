// The two-level method: the ranks of a host average in shared memory, each of them exchanges its
// part of the mean with its peers on other hosts by a method of its own, and the host puts the
// parts together. To that method a host is one worker. Made by make() of every parsed method where
// the communicator has several ranks on a host.
#pragma once

#include <memory>
#include <vector>

#include "gradwire/collective/host_groups.h"
#include "gradwire/method/method.h"
#include "gradwire/method/parsed_method.h"

namespace gradwire {

// Throws what the parts' method throws, and StartError where ranks of a host cannot share memory.
std::unique_ptr<Method> make_host_method(HostGroups& groups, std::vector<MethodTensor> tensors,
                                         const ParsedMethod& method, const MethodOptions& options);

}  // namespace gradwire
