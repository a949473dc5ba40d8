#include "tests/ranks/rank.h"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "gradwire/transport/mpi.h"
#include "gradwire/transport/tcp.h"

namespace gradwire::ranks {
namespace {

std::string text_of(const char* variable) {
  const char* const text = std::getenv(variable);
  if (!text) {
    throw StartError(std::string(variable) +
                     " is not set: start this by mpirun, or set RANK, WORLD_SIZE, MASTER_ADDR and "
                     "MASTER_PORT");
  }
  return text;
}

template <class Number>
Number number_of(const char* variable) {
  const std::string text = text_of(variable);
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw StartError(std::string(variable) + "=" + text + " is not a number");
  }
  return number;
}

}  // namespace

std::unique_ptr<Transport> transport_from_environment() {
  if (std::getenv("OMPI_COMM_WORLD_SIZE")) return make_mpi_transport();
  MeetingOptions options;
  options.rank = number_of<std::size_t>("RANK");
  options.size = number_of<std::size_t>("WORLD_SIZE");
  options.master_host = text_of("MASTER_ADDR");
  options.master_port = number_of<std::uint16_t>("MASTER_PORT");
  const char* const secret_file = std::getenv("GRADWIRE_SECRET_FILE");
  return make_tcp_transport(
      {.meeting = options, .security = {.secret_file = secret_file ? secret_file : ""}});
}

int run_rank(const std::function<void(Transport&)>& f) {
  const auto transport = transport_from_environment();
  try {
    f(*transport);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %zu: %s\n", transport->rank(), error.what());
    transport->abandon();
    return 1;
  }
  return 0;
}

}  // namespace gradwire::ranks
