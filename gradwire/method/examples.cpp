// What listings say about every method.
#include "gradwire/codec/spec.h"
#include "gradwire/method/method.h"
#include "gradwire/method/registry.h"

namespace gradwire {

std::string MethodExample::memory() const {
  return format_number(vectors) + (owner_vectors > 0 ? " + 1/N" : "") +
         (more.empty() ? "" : " + " + more);
}

std::vector<MethodExample> example_methods() {
  const std::string all = topology_names();
  const std::string not_ring =
      topology_names([](const TopologyTraits& traits) { return !traits.passes_sums; });
  const std::string owners =
      topology_names([](const TopologyTraits& traits) { return traits.has_owners; });
  std::vector<MethodExample> examples = {
      {"natural", 0, 0, "", all, "a codec alone: the mean of what it makes of each gradient"},
      {"direct(topk(1%), down=none)", 0, 0, "", not_ring, "the same, with a codec for each way"},
      {"ef(topk(1%))", 1, 1, "", not_ring, "what was not sent is added to the next gradient"},
      {"ef(topk(1%), down=natural)", 1, 1, "", owners,
       "the same, and what goes down has a memory of its own"},
      {"ef21(topk(1%))", 2, 1, "", not_ring,
       "sends what a gradient has moved by: no floor on data that differ"},
      {"diana(natural)", 2, 0, "", not_ring,
       "the same for codecs that are right on average: converges to the optimum"},
      {"diana(natural, down=natural)", 2, 1, "", owners,
       "the same with a rounded downlink, which has a shift of its own"},
      {"dgc(0.1%)", 2, 1, "", not_ring, "momentum before sparsification; clipping and warm-up"},
      {"powersgd(rank=4)", 1, 0, "factors", all, "matrices as products of two thin ones"},
      {"lasg(none)", 1, 0, "1 upload", not_ring,
       "a worker whose gradient has hardly changed sends nothing"},
      {"sasg(topk(1%))", 2, 0, "sparse uploads", not_ring,
       "the same with sparse uploads and an error memory"},
      {"lgreco(qsgd)", 1, 0, "", not_ring,
       "every layer its own number of bits, planned while training"},
      {"lgreco(topk)", 2, 1, "", not_ring, "the same with the share of topk"},
      {"lgreco(powersgd)", 2, 0, "factors", all, "the same with the rank of powersgd"},
      {"lgreco(any)", 2, 1, "", not_ring, "the same, and each layer takes the best family"},
      {"dqgd", 0, 0, "", all, "stands for direct(qsgd(bits=2, norm=l2), down=none)"},
      {"qsgd_4bit", 0, 0, "", all,
       "stands for direct(qsgd(bits=4, norm=l2), down=none); also qsgd_2bit, qsgd_8bit"},
      {"signsgd", 0, 0, "", owners,
       "majority vote: stands for direct(sign(scale=off), down=sign(scale=off))"},
      {"ef_signsgd", 1, 1, "", not_ring, "stands for ef(sign)"},
      {"lgc(ring)", 1, 0, "a code", "ring, gather, server",
       "values at shared indices by a code that is learned while training"},
      {"lgc(server)", 1, 0, "a code", "gather, server",
       "the same, with one rank's code for all and what is new with each"},
  };
  const std::vector<MethodExample>& more = registered_examples();
  examples.insert(examples.end(), more.begin(), more.end());
  return examples;
}

}  // namespace gradwire
