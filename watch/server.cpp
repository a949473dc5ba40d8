#include "watch/server.h"

#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "gradwire/core/error.h"
#include "watch/access.h"
#include "watch/bounded_server.h"
#include "watch/prometheus.h"

namespace gradwire::watch {
namespace {

constexpr std::size_t kThreads = 8;
constexpr const char* kJson = "application/json";
constexpr const char* kText = "text/plain; charset=utf-8";

// Without SO_REUSEPORT, which would let two servers share a port.
void set_socket_options(int socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

httplib::Headers security_headers() {
  return {{"Content-Security-Policy",
           "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
           "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
           "frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

// As a stream of known length, which the library does not compress: that would take longer than
// the network of a page that is looked at.
void answer(std::shared_ptr<const std::string> text, const char* type,
            httplib::Response& response) {
  response.status = 200;
  if (text->empty()) {  // a stream of no length would have no Content-Length
    response.set_content("", type);
    return;
  }
  response.set_content_provider(
      text->size(), type, [text](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        if (offset > text->size() || length > text->size() - offset) return false;
        return sink.write(text->data() + offset, length);
      });
}

void answer(std::string text, const char* type, httplib::Response& response) {
  answer(std::make_shared<const std::string>(std::move(text)), type, response);
}

void refuse(int status, const std::string& why, httplib::Response& response) {
  response.status = status;
  response.set_content(why + '\n', kText);
}

std::string in_url(const std::string& host) {
  return host.find(':') == host.npos ? host : "[" + host + "]";
}

std::string reason_of(int error) {
  if (error == EADDRINUSE) return "the port is in use: give another one with --listen";
  return error == 0 ? "there is no such address here" : std::strerror(error);
}

}  // namespace

class Server::Implementation {
 public:
  Implementation(Watcher& watcher, const ServerOptions& options)
      : watcher_(watcher), options_(options) {
    set_up();
    listen();
    thread_ = std::thread([this] {
      server_.listen_after_bind();
      has_ended_ = true;
    });
    wait_until_it_runs();
  }

  ~Implementation() {
    server_.stop();
    thread_.join();
  }

  std::uint16_t port() const { return port_; }
  const ServerOptions& options() const { return options_; }

 private:
  using Handled = httplib::Server::HandlerResponse;

  void wait_until_it_runs() {
    while (!server_.is_running()) {
      if (has_ended_) {
        thread_.join();
        throw Error("cannot listen at " + in_url(options_.host) + ":" + std::to_string(port_) +
                    ": the socket was closed at once");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void set_up() {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server_.set_socket_options(set_socket_options);
    server_.set_payload_max_length(0);
    server_.set_default_headers(security_headers());
    server_.set_pre_routing_handler([this](const auto& request, auto& response) {
      return is_refused(request, response) ? Handled::Handled : Handled::Unhandled;
    });
    server_.set_exception_handler([](const auto&, auto& response, std::exception_ptr) {
      refuse(500, "the record cannot be shown", response);
    });
    server_.set_error_handler([](const auto&, auto& response) {
      if (response.status == 404) response.set_content("there is no such page\n", kText);
    });
    server_.Get("/", [this](const auto& request, auto& response) { page(request, response); });
    server_.Get("/state", [this](const auto&, auto& response) { state(response); });
    server_.Get("/document",
                [this](const auto& request, auto& response) { document(request, response); });
    server_.Get("/metrics", [this](const auto&, auto& response) {
      answer(prometheus_text(watcher_.states()), kPrometheusType, response);
    });
    server_.Get("/favicon\\.ico", [](const auto&, auto& response) { response.status = 204; });
  }

  void listen() {
    errno = 0;
    int port = options_.port;
    const bool is_bound = port == 0 ? (port = server_.bind_to_any_port(options_.host)) > 0
                                    : server_.bind_to_port(options_.host, port);
    if (!is_bound) {
      throw Error("cannot listen at " + in_url(options_.host) + ":" +
                  std::to_string(options_.port) + ": " + reason_of(errno));
    }
    port_ = static_cast<std::uint16_t>(port);
  }

  bool is_refused(const httplib::Request& request, httplib::Response& response) const {
    if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      refuse(405, "only GET and HEAD", response);
      return true;
    }
    const Claim claim{.host = request.get_header_value("Host"),
                      .authorization = request.get_header_value("Authorization"),
                      .cookie = request.get_header_value("Cookie"),
                      .token = request.get_param_value("token")};
    switch (judge(claim, options_.token, port_)) {
      case Verdict::allowed:
        return false;
      case Verdict::wrong_host:
        refuse(403, "call this machine localhost or 127.0.0.1, or start the watcher with a token",
               response);
        return true;
      case Verdict::no_token:
      case Verdict::wrong_token:
        response.set_header("WWW-Authenticate", "Bearer");
        refuse(401, "this needs the token: open the address that gradwire watch has printed",
               response);
        return true;
    }
    return true;
  }

  // The token goes from the address into a cookie that scripts cannot read, so that it is neither
  // in sight nor in the history of the browser.
  void page(const httplib::Request& request, httplib::Response& response) {
    if (!options_.token.empty() && request.has_param("token")) {
      response.set_header(
          "Set-Cookie", cookie_name(port_) + "=" + options_.token + "; HttpOnly; SameSite=Strict");
      response.set_redirect("./", 303);
      return;
    }
    answer(watcher_.page(), "text/html; charset=utf-8", response);
  }

  void state(httplib::Response& response) {
    record::Json runs = record::Json::array();
    for (const RunState& run : watcher_.states()) runs.push_back(to_json(run));
    const record::Json document = {{"gradwire", "watch"},
                                   {"version", watcher_.version()},
                                   {"hint", watcher_.hint()},
                                   {"runs", std::move(runs)}};
    answer(document.dump(-1, ' ', false, record::Json::error_handler_t::replace), kJson, response);
  }

  void document(const httplib::Request& request, httplib::Response& response) {
    const Watcher::Document document = watcher_.document();
    const std::string tag = '"' + document.version + '"';
    response.set_header("ETag", tag);
    if (request.get_header_value("If-None-Match") == tag) {
      response.status = 304;
      return;
    }
    answer(document.text, kJson, response);
  }

  Watcher& watcher_;
  const ServerOptions options_;
  BoundedServer server_;
  std::uint16_t port_ = 0;
  std::atomic<bool> has_ended_ = false;
  std::thread thread_;
};

Server::Server(Watcher& watcher, const ServerOptions& options)
    : implementation_(std::make_unique<Implementation>(watcher, options)) {}

Server::~Server() = default;

std::uint16_t Server::port() const { return implementation_->port(); }

std::string Server::url() const {
  const ServerOptions& options = implementation_->options();
  std::string url = "http://" + in_url(options.host) + ":" + std::to_string(port()) + "/";
  if (!options.token.empty()) url += "?token=" + options.token;
  return url;
}

}  // namespace gradwire::watch
