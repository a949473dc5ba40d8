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
      {"local_sgd", "local(none, every=10)",
       MethodExample{"local_sgd", 2, 0, "", any_topology(), "stands for local(none, every=10)"}},
      {"diloco", "local(none, every=500, outer=nesterov(0.7, 0.9))",
       MethodExample{"diloco", 3, 0, "", any_topology(),
                     "stands for local(none, every=500, outer=nesterov(0.7, 0.9))"}},
      {"sparseloco", "local(topk(1%, chunk=4096) | twobit, every=30, memory=0.95)",
       MethodExample{"sparseloco", 3, 1, "", topologies_with_messages(),
                     "stands for local(topk(1%, chunk=4096) | twobit, every=30, memory=0.95)"}},
  };
  return presets;
}

}  // namespace gradwire
