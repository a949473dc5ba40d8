// The server and its client over the loopback.
#include "watch/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <thread>

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gradwire/file/test_text.h"
#include "watch/record_test_support.h"
#include "watch/remote.h"

namespace gradwire::watch {
namespace {

constexpr const char* kToken = "0123456789abcdef";

class ServerThreads : public testing::Test {
 protected:
  void start(const std::string& token = {}) {
    watcher.emplace(std::vector<std::filesystem::path>{run});
    server.emplace(*watcher, ServerOptions{.token = token});
  }

  httplib::Result get(const std::string& path, const httplib::Headers& headers = {}) const {
    return httplib::Client("127.0.0.1", server->port()).Get(path, headers);
  }
  int status(const std::string& path, const httplib::Headers& headers = {}) const {
    return get(path, headers).value().status;
  }
  record::Json json(const std::string& path) const {
    return record::Json::parse(get(path).value().body);
  }
  // The watcher reads not more often than a few times a second.
  template <class Condition>
  void wait_until(Condition is_so) const {
    while (!is_so()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

  const TestDirectory directory;
  const std::filesystem::path run = directory / "run";
  std::optional<Watcher> watcher;
  std::optional<Server> server;
};

TEST_F(ServerThreads, ServesThePageAndWhatItAsksFor) {
  begin_run(run, "natural", 100);
  append_steps(run, 1, 5);
  start();
  const auto page = get("/");
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(page->get_header_value("Content-Type"), "text/html; charset=utf-8");
  EXPECT_TRUE(contains(page->body, "connect-src 'self'"));
  EXPECT_TRUE(contains(page->body, "\"live\":true"));
  const record::Json state = json("/state");
  EXPECT_EQ(state["runs"][0]["step"], 5);
  EXPECT_EQ(state["runs"][0]["phase"], "running");
  EXPECT_EQ(json("/document")["version"], state["version"]);
  EXPECT_EQ(json("/document")["runs"][0], "natural");
  const auto metrics = get("/metrics");
  EXPECT_EQ(metrics->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_TRUE(contains(metrics->body, "gradwire_step{run=\"natural\",directory=\"run\"} 5\n"));
}

TEST_F(ServerThreads, EveryAnswerHasTheHeadersThatProtectIt) {
  start();
  for (const char* path : {"/", "/state", "/document", "/metrics", "/favicon.ico", "/absent"}) {
    const auto answer = get(path);
    const std::string policy = answer->get_header_value("Content-Security-Policy");
    EXPECT_TRUE(contains(policy, "default-src 'none'")) << path;
    EXPECT_FALSE(contains(policy, "http")) << path;
    EXPECT_EQ(answer->get_header_value("X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(answer->get_header_value("Cache-Control"), "no-store") << path;
    EXPECT_EQ(answer->get_header_value("Referrer-Policy"), "no-referrer") << path;
    EXPECT_FALSE(answer->has_header("Access-Control-Allow-Origin")) << path;
    EXPECT_FALSE(answer->has_header("Content-Encoding")) << path;
  }
}

TEST_F(ServerThreads, TheDocumentIsSentOnceForEachVersion) {
  begin_run(run, "natural", 100);
  append_steps(run, 1, 5);
  start();
  const std::string tag = get("/document")->get_header_value("ETag");
  const auto same = get("/document", {{"If-None-Match", tag}});
  EXPECT_EQ(same->status, 304);
  EXPECT_EQ(same->body, "");
  append_steps(run, 6, 7);
  wait_until([&] { return status("/document", {{"If-None-Match", tag}}) == 200; });
  EXPECT_EQ(json("/state")["runs"][0]["step"], 7);
}

TEST_F(ServerThreads, WithoutTheTokenNothingIsSaid) {
  begin_run(run, "natural", 100);
  start(kToken);
  for (const char* path : {"/", "/state", "/document", "/metrics", "/favicon.ico", "/absent"}) {
    for (const std::string query : {"", "?token=", "?token=0123456789abcdeg"}) {
      const auto answer = get(path + query);
      EXPECT_EQ(answer->status, 401) << path << query;
      EXPECT_FALSE(contains(answer->body, "natural"));
      EXPECT_FALSE(contains(answer->body, kToken));
    }
    EXPECT_EQ(status(path, {{"Authorization", "Bearer wrong"}}), 401);
  }
}

TEST_F(ServerThreads, TheTokenGoesFromTheAddressIntoACookie) {
  begin_run(run, "natural", 100);
  start(kToken);
  EXPECT_EQ(server->url(),
            "http://127.0.0.1:" + std::to_string(server->port()) + "/?token=" + kToken);
  const auto first = get(std::string("/?token=") + kToken);
  EXPECT_EQ(first->status, 303);
  EXPECT_EQ(first->get_header_value("Location"), "./");
  const std::string cookie = first->get_header_value("Set-Cookie");
  EXPECT_TRUE(contains(cookie, "; HttpOnly; SameSite=Strict"));
  const httplib::Headers with_cookie = {{"Cookie", cookie.substr(0, cookie.find(';'))}};
  EXPECT_EQ(status("/", with_cookie), 200);
  EXPECT_EQ(status("/state", with_cookie), 200);
  EXPECT_EQ(status("/metrics", {{"Authorization", std::string("Bearer ") + kToken}}), 200);
}

TEST_F(ServerThreads, AnotherNameOfThisMachineIsRefusedWithoutAToken) {
  start();
  EXPECT_EQ(status("/state", {{"Host", "evil.example:80"}}), 403);
  EXPECT_EQ(status("/state", {{"Host", "localhost:80"}}), 200);
}

TEST_F(ServerThreads, NoPathLeadsToAFile) {
  begin_run(run, "natural", 100);
  write_text(directory / "secret", "not for you");
  start();
  for (const char* path :
       {"/../secret", "/%2e%2e/secret", "/..%2fsecret", "/run/start.json", "/start.json",
        "/document/../start.json", "//etc/passwd", "/state%00.json", "/?file=../secret",
        "/document?from=99999999999999999"}) {
    const auto answer = get(path);
    EXPECT_TRUE(answer->status == 404 || answer->status == 400 || answer->status == 200) << path;
    EXPECT_FALSE(contains(answer->body, "not for you")) << path;
    EXPECT_FALSE(contains(answer->body, "root:")) << path;
    if (answer->status == 200) continue;
    EXPECT_FALSE(contains(answer->body, "natural")) << path;
  }
  EXPECT_EQ(status("/" + std::string(4000, 'a')), 404);
}

TEST_F(ServerThreads, HeadHasTheHeadersOfGetAndNoBody) {
  begin_run(run, "natural", 100);
  start();
  httplib::Client client("127.0.0.1", server->port());
  for (const char* path : {"/", "/state", "/document", "/metrics"}) {
    const auto answer = client.Head(path);
    EXPECT_EQ(answer->status, 200) << path;
    EXPECT_EQ(answer->body, "") << path;
    EXPECT_GT(std::stoul(answer->get_header_value("Content-Length")), 0u) << path;
  }
}

TEST_F(ServerThreads, OtherMethodsAreRefused) {
  start();
  const std::uint16_t port = server->port();
  EXPECT_EQ(httplib::Client("127.0.0.1", port).Post("/state")->status, 405);
  EXPECT_EQ(httplib::Client("127.0.0.1", port).Delete("/state")->status, 405);
  EXPECT_EQ(httplib::Client("127.0.0.1", port).Options("/state")->status, 405);
  const auto put = httplib::Client("127.0.0.1", port).Put("/state");
  EXPECT_EQ(put->status, 405);
  EXPECT_EQ(put->get_header_value("Allow"), "GET, HEAD");
}

// Sends what it is told to, until the other side has had enough.
std::size_t bytes_taken(std::uint16_t port, const std::string& start, const std::string& more) {
  constexpr std::size_t kEnough = 64 << 20;
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  std::size_t sent = 0;
  for (std::string_view text = start; sent < kEnough; text = more) {
    const ssize_t count = send(client, text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0) break;
    sent += static_cast<std::size_t>(count);
  }
  close(client);
  return sent;
}

TEST_F(ServerThreads, ARequestWithoutAnEndIsCutOff) {
  start();
  constexpr std::size_t kBuffersOfSockets = 16 << 20;
  const std::string header = "A: " + std::string(1000, 'a') + "\r\n";
  const std::uint16_t port = server->port();
  EXPECT_LT(bytes_taken(port, "GET /", std::string(4000, 'a')), kBuffersOfSockets);
  EXPECT_LT(bytes_taken(port, "GET /state HTTP/1.1\r\n", header), kBuffersOfSockets);
  EXPECT_LT(bytes_taken(port, "GET /state HTTP/1.1\r\nA: ", std::string(4000, 'a')),
            kBuffersOfSockets);
  EXPECT_EQ(status("/state"), 200);
}

TEST_F(ServerThreads, ARangeBeyondTheEndIsNoHarm) {
  begin_run(run, "natural", 100);
  start();
  const std::string whole = get("/document")->body;
  for (const char* range : {"bytes=99999999999-999999999999", "bytes=5-999999999",
                            "bytes=-99999999", "bytes=1-2,3-4", "bytes=9-1", "bytes=x"}) {
    const auto answer = get("/document", {{"Range", range}});
    ASSERT_TRUE(answer) << range;
    EXPECT_TRUE(answer->status == 200 || answer->status == 416) << range << answer->status;
    EXPECT_TRUE(answer->status != 200 || answer->body == whole) << range;
  }
  EXPECT_EQ(status("/document"), 200);
}

TEST_F(ServerThreads, SeveralClientsAreServedWhileTheRunGoesOn) {
  begin_run(run, "natural", 100'000);
  append_steps(run, 1, 10);
  start();
  std::atomic<int> answers = 0;
  std::atomic<bool> is_over = false;
  std::vector<std::thread> clients;
  for (int i = 0; i < 12; ++i) {
    clients.emplace_back([&] {
      while (!is_over) {
        for (const char* path : {"/state", "/document", "/metrics"}) {
          if (status(path) == 200) ++answers;
        }
      }
    });
  }
  for (std::uint64_t i = 11; i < 30; ++i) append_steps(run, i, i);
  wait_until([&] { return answers >= 100; });
  is_over = true;
  for (std::thread& client : clients) client.join();
  wait_until([&] { return json("/state")["runs"][0]["step"] == 29; });
}

TEST_F(ServerThreads, APortThatIsInUseIsAClearError) {
  start();
  const auto second = [&] { Server(*watcher, ServerOptions{.port = server->port()}); };
  EXPECT_EQ(message_of<Error>(second),
            "cannot listen at 127.0.0.1:" + std::to_string(server->port()) +
                ": the port is in use: give another one with --listen");
}

TEST_F(ServerThreads, SaysWhatToDoWhileThereIsNoRunAndFindsThoseThatBegin) {
  start();
  EXPECT_EQ(json("/state")["runs"].size(), 0u);
  EXPECT_EQ(json("/state")["hint"], "no run yet in " + run.string() +
                                        ": start one with gradwire train --out " + run.string());
  begin_run(run / "none", "none", 5);
  wait_until([&] { return json("/state")["runs"].size() == 1; });
  begin_run(run / "natural", "natural", 5);
  begin_run(run / "again", "natural", 5);
  wait_until([&] { return json("/state")["runs"].size() == 3; });
  EXPECT_EQ(json("/state")["runs"][0]["name"], "none");
  const std::string two = json("/state")["runs"].dump();
  EXPECT_TRUE(contains(two, "natural (natural)") && contains(two, "natural (again)")) << two;
}

TEST_F(ServerThreads, ARemoteWatcherIsAskedForItsRuns) {
  begin_run(run, "natural", 100);
  append_steps(run, 1, 5);
  start(kToken);
  const Remote::Answer answer = Remote("127.0.0.1", server->port(), kToken).ask();
  ASSERT_EQ(answer.runs.size(), 1u);
  EXPECT_TRUE(words_of(answer.runs[0]).starts_with("natural: step 5 of 100, loss 0.2"));
  const std::string where = "127.0.0.1:" + std::to_string(server->port());
  EXPECT_EQ(message_of<Error>([&] { Remote("127.0.0.1", server->port(), "").ask(); }),
            where + " needs a token: give --token-file");
  EXPECT_EQ(message_of<Error>([&] { Remote("127.0.0.1", server->port(), "x").ask(); }),
            where + " refuses the token of --token-file");
  const std::uint16_t port = server->port();
  server.reset();
  EXPECT_TRUE(contains(message_of<Error>([&] { Remote("127.0.0.1", port, "").ask(); }),
                       "is gradwire watch running there"));
}

}  // namespace
}  // namespace gradwire::watch
