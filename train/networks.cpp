#include "train/networks.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "gradwire/core/error.h"

namespace gradwire::train {
namespace {

namespace fs = std::filesystem;

fs::path find_module() {
  const fs::path directory = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& place :
       {directory / kNetworksFile, directory / "../lib/gradwire" / kNetworksFile}) {
    if (fs::exists(place)) return place;
  }
  throw Error(std::string(kNetworksFile) + ", which trains networks, is neither in " +
              directory.string() + " nor in ../lib/gradwire: install gradwire again");
}

const Networks& load() {
  // Global, since libtorch's own modules expect its symbols there.
  void* const module = dlopen(find_module().c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* const entry = module == nullptr ? nullptr : dlsym(module, kNetworksEntry);
  if (entry == nullptr) {
    throw Error(std::string("networks cannot be trained on this host: ") + dlerror() +
                ". Is libtorch installed (apt-get install libtorch1.13)?");
  }
  return *reinterpret_cast<const Networks* (*)()>(entry)();
}

}  // namespace

const Networks& networks() {
  static const Networks& loaded = load();
  return loaded;
}

void set_operation_threads(std::size_t threads) { networks().set_threads(threads); }

}  // namespace gradwire::train
