#include "gradwire/method/lgc/code_network.h"

#include "gradwire/core/check.h"

namespace gradwire {

std::unique_ptr<CodeNetwork> make_code_network(const CodeNetworkOptions& options) {
  GW_CHECK(options.channels >= 1 && options.channels <= kCodeBlock && options.decoders >= 1);
  switch (options.kind) {
    case CodeKind::linear:
      return make_linear_code(options);
    case CodeKind::deep:
      return make_deep_code(options);
    case CodeKind::plain:
      break;
  }
  return make_plain_code(options);
}

}  // namespace gradwire
