#include "gradwire/transport/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <sstream>
#include <system_error>

#include "gradwire/core/error.h"

namespace gradwire {
namespace {

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error("cannot " + what + ": " + std::strerror(error));
}

std::string hexadecimal(std::uint64_t number) {
  std::ostringstream text;
  text << std::hex << number;
  return text.str();
}

// What the machine can give without ending a process for it; all that can be asked for if it does
// not say.
std::uint64_t available_bytes() {
  std::ifstream facts("/proc/meminfo");
  for (std::string line; std::getline(facts, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kilobytes = 0;
    if (words >> name >> kilobytes && name == "MemAvailable:") return kilobytes * 1024;
  }
  return std::numeric_limits<std::uint64_t>::max();
}

// Different on this machine for as long as it runs: an inode of memory may be used again.
std::string random_name() {
  std::random_device random;
  return "gradwire-" + hexadecimal(std::uint64_t{random()} << 32 | random());
}

// What this process has open. Its threads share a mapping, so that what one of them writes is where
// the others read it.
class Opened {
 public:
  static Opened& of_process() {
    static Opened all;
    return all;
  }

  // open() runs under the lock if nobody has it.
  template <class Open>
  std::shared_ptr<SharedMemory> find_or(const std::string& ticket, const Open& open) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<SharedMemory>& entry = all_[ticket];
    auto memory = entry.lock();
    if (!memory) entry = memory = open();
    return memory;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<SharedMemory>> all_;
};

// PROCESS/DESCRIPTOR/NAME/BYTES
struct Ticket {
  std::string process = {};
  std::string descriptor = {};
  std::string name = {};
  std::size_t bytes = 0;

  std::string text() const {
    return process + '/' + descriptor + '/' + name + '/' + std::to_string(bytes);
  }
  static Ticket of_text(const std::string& text) {
    Ticket ticket;
    std::istringstream parts(text);
    std::getline(parts, ticket.process, '/');
    std::getline(parts, ticket.descriptor, '/');
    std::getline(parts, ticket.name, '/');
    if (!(parts >> ticket.bytes)) throw Error("'" + text + "' names no shared memory");
    return ticket;
  }
};

// The other process may be in another namespace, where its number is that of a stranger here: the
// file is opened only if it has the right name.
Descriptor open_file(const Ticket& ticket) {
  const std::string path = "/proc/" + ticket.process + "/fd/" + ticket.descriptor;
  std::error_code error;
  const std::string target = std::filesystem::read_symlink(path, error).string();
  if (error) fail("find the memory of process " + ticket.process, error.value());
  if (target.find(ticket.name) == std::string::npos) {
    throw Error("process " + ticket.process + " is another one here: containers do not share it");
  }
  Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file) fail("open the memory of process " + ticket.process, errno);
  return file;
}

}  // namespace

SharedMemory::SharedMemory(Descriptor file, std::size_t bytes, std::string ticket)
    : file_(std::move(file)), ticket_(std::move(ticket)) {
  void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (start == MAP_FAILED) fail("map shared memory", errno);
  bytes_ = {static_cast<std::byte*>(start), bytes};
}

SharedMemory::~SharedMemory() { munmap(bytes_.data(), bytes_.size()); }

std::shared_ptr<SharedMemory> SharedMemory::create(std::size_t bytes) {
  Ticket ticket{.process = std::to_string(getpid()), .name = random_name(), .bytes = bytes};
  Descriptor file(memfd_create(ticket.name.c_str(), MFD_CLOEXEC));
  if (!file) fail("make shared memory", errno);
  ticket.descriptor = std::to_string(file.get());
  if (fchmod(file.get(), S_IRUSR | S_IWUSR) != 0) fail("protect shared memory", errno);
  // All of it now: to run out of memory later would end the process without a word. The kernel
  // would also end others before it says that so much is not there.
  if (bytes > available_bytes()) {
    fail("get " + std::to_string(bytes) + " bytes of shared memory", ENOMEM);
  }
  if (const int error = posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)); error != 0) {
    fail("get " + std::to_string(bytes) + " bytes of shared memory", error);
  }
  return Opened::of_process().find_or(ticket.text(), [&] {
    return std::shared_ptr<SharedMemory>(new SharedMemory(std::move(file), bytes, ticket.text()));
  });
}

std::shared_ptr<SharedMemory> SharedMemory::open(const std::string& text) {
  return Opened::of_process().find_or(text, [&] {
    const Ticket ticket = Ticket::of_text(text);
    Descriptor file = open_file(ticket);
    struct stat facts {};
    if (fstat(file.get(), &facts) != 0) fail("look at shared memory", errno);
    if (facts.st_size < 0 || static_cast<std::size_t>(facts.st_size) != ticket.bytes) {
      throw Error("the memory of process " + ticket.process + " has another length");
    }
    return std::shared_ptr<SharedMemory>(new SharedMemory(std::move(file), ticket.bytes, text));
  });
}

}  // namespace gradwire
