// An HTTP server of one request for each connection, so that a browser that keeps some open does
// not keep others waiting, with bounds on what a connection may take. The library that it is made
// of reads lines and headers of any length and number, as slowly as they come. Answers are whole:
// Range is ignored.
#pragma once

#include <httplib.h>

#include <cstddef>

namespace gradwire::watch {

inline constexpr std::size_t kRequestBytesMax = 65'536;  // headers included: browsers send cookies
inline constexpr int kRequestMsMax = 3'000;              // until a request has come
inline constexpr int kAnswerMsMax = 30'000;              // until its answer has gone, in all

class BoundedServer : public httplib::Server {
 private:
  bool process_and_close_socket(socket_t socket) override;
};

}  // namespace gradwire::watch
