// Opens files that only their owner may read: secrets and private keys.
#pragma once

#include <string>

#include "gradwire/transport/descriptor.h"

namespace gradwire {

// For reading. `what` names the content, for messages: "the secret". Throws FileError if the file
// cannot be opened, and if other users may read or change it, as ssh does.
Descriptor open_private_file(const std::string& path, const std::string& what);

}  // namespace gradwire
