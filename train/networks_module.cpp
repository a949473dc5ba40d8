// The module's table. The only symbol that the program looks for by name.
#include "train/networks.h"
#include "train/operation_threads.h"
#include "train/torch_model.h"

namespace gradwire::train {

extern "C" const Networks* gradwire_networks() {
  static const Networks table{.families =
                                  {
#define GRADWIRE_MODEL(name, example) name##_model(),
#include "train/models.inc"
#undef GRADWIRE_MODEL
                                  },
                              .make = make_torch_model,
                              .set_threads = set_torch_threads};
  return &table;
}

}  // namespace gradwire::train
