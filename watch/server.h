// Server: a watcher's page and numbers over HTTP. It answers GET and HEAD alone, from a fixed list
// of paths, and opens no file that a request names:
//
//   /          the page
//   /state     where the runs are, and the version of the document, as JSON
//   /document  what the page shows, as JSON; its ETag is its version
//   /metrics   the same in Prometheus' text format
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "watch/watcher.h"

namespace gradwire::watch {

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any
  std::string token = {};  // empty: none is needed
};

class Server {
 public:
  // Listens, and answers on threads of its own until the object ends. The watcher must outlive it.
  // Throws Error if it cannot listen there.
  Server(Watcher& watcher, const ServerOptions& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;
  // For a browser; with the token, if there is one.
  std::string url() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace gradwire::watch
