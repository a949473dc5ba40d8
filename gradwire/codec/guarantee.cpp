#include "gradwire/codec/guarantee.h"

namespace gradwire {

const char* name(Guarantee::Kind kind) {
  switch (kind) {
    case Guarantee::Kind::unbiased:
      return "unbiased";
    case Guarantee::Kind::contractive:
      return "contractive";
    case Guarantee::Kind::none:
      break;
  }
  return "none";
}

}  // namespace gradwire
