#include "gradwire/method/presets.h"

#include <vector>

#include "gradwire/method/registry.h"

namespace gradwire {

std::span<const MethodPreset> method_presets() {
  static const std::vector<MethodPreset> presets = {
      {"dqgd", "direct(qsgd(bits=2, norm=l2), down=none)",
       MethodExample{"dqgd", 0, 0, "", any_topology(),
                     "stands for direct(qsgd(bits=2, norm=l2), down=none)"}},
      {"qsgd_2bit", "direct(qsgd(bits=2, norm=l2, bucket=128), down=none)"},
      {"qsgd_4bit", "direct(qsgd(bits=4, norm=l2, bucket=512), down=none)",
       MethodExample{
           "qsgd_4bit", 0, 0, "", any_topology(),
           "stands for direct(qsgd(bits=4, norm=l2), down=none); also qsgd_2bit, qsgd_8bit"}},
      {"qsgd_8bit", "direct(qsgd(bits=8, norm=l2, bucket=512), down=none)"},
      {"signsgd", "direct(sign(scale=off), down=sign(scale=off))",
       MethodExample{"signsgd", 0, 0, "", topologies_with_owners(),
                     "majority vote: stands for direct(sign(scale=off), down=sign(scale=off))"}},
      {"ef_signsgd", "ef(sign)",
       MethodExample{"ef_signsgd", 1, 1, "", topologies_with_messages(), "stands for ef(sign)"}},
  };
  return presets;
}

}  // namespace gradwire
