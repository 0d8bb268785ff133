#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "engine/base/error.h"
#include "tests/remote/client_testing.h"
#include "tests/servers/mock_server.h"

namespace detcheck {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A certificate of our own for `name` ("IP:127.0.0.1"), and a server that shows it.
class TlsServer {
 public:
  explicit TlsServer(const std::string& name) {
    std::string folder = (std::filesystem::temp_directory_path() / "detcheck-tls-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder for certificates");
    folder_ = folder;
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        "-subj /CN=detcheck-test -addext subjectAltName=" +
        name + " -keyout " + key() + " -out " + certificate() + " 2>/dev/null";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("openssl makes no certificate");
    Launch();
  }
  ~TlsServer() {
    close(input_);
    waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  std::string certificate() const { return folder_ / "certificate.pem"; }
  std::string key() const { return folder_ / "key.pem"; }
  Endpoint At(const TlsOptions& tls) const {
    Endpoint endpoint = ParseEndpoint("https://127.0.0.1:" + port_);
    endpoint.tls = tls;
    return endpoint;
  }
  const std::string& port() const { return port_; }

 private:
  void Launch() {
    int in[2];
    int out[2];
    if (pipe(in) != 0 || pipe(out) != 0) throw std::runtime_error("no pipe");
    const std::string script = std::string(DETCHECK_SERVERS_DIR) + "/tls_server.py";
    const std::string certificate_file = certificate();
    const std::string key_file = key();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      for (const int fd : {in[0], in[1], out[0], out[1]}) close(fd);
      execl(DETCHECK_PYTHON, DETCHECK_PYTHON, script.c_str(), certificate_file.c_str(),
            key_file.c_str(), nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    char c = 0;
    while (read(out[0], &c, 1) == 1 && c != '\n') port_ += c;
    close(out[0]);
    if (port_.empty()) throw std::runtime_error("the https server does not start");
  }

  std::filesystem::path folder_;
  std::string port_;
  pid_t pid_ = 0;
  int input_ = -1;
};

HttpResult AskAt(const Endpoint& endpoint) {
  HttpClient client(endpoint);
  const std::atomic<bool> stop = false;
  return client.Run(Post("/generate", BodyFormat::kWhole, "{\"a\": 1}"), stop);
}

TEST(HttpTlsTest, SelfSignedCertificateIsRefusedUnlessTrusted) {
  const TlsServer server("IP:127.0.0.1");
  const HttpResult refused = AskAt(server.At({}));
  EXPECT_EQ(refused.error, HttpError::kTls);
  EXPECT_THAT(refused.message, HasSubstr("certificate"));
  EXPECT_EQ(refused.status, 0);
  EXPECT_FALSE(refused.times.sent.has_value());

  for (const TlsOptions& tls : {TlsOptions{.ca_cert_file = server.certificate(), .insecure = false},
                                TlsOptions{.ca_cert_file = "", .insecure = true}}) {
    const HttpResult taken = AskAt(server.At(tls));
    EXPECT_EQ(taken.error, HttpError::kNone) << taken.message;
    EXPECT_EQ(taken.body, "{\"a\": 1}");
  }
}

TEST(HttpTlsTest, CertificateForAnotherName) {
  const TlsServer server("DNS:other.example");
  const HttpResult refused =
      AskAt(server.At({.ca_cert_file = server.certificate(), .insecure = false}));
  EXPECT_EQ(refused.error, HttpError::kTls) << refused.message;
  EXPECT_EQ(AskAt(server.At({.ca_cert_file = "", .insecure = true})).error, HttpError::kNone);
}

TEST(HttpTlsTest, ReleaseTogether) {
  const TlsServer server("IP:127.0.0.1");
  HttpClient client(server.At({.ca_cert_file = server.certificate(), .insecure = false}));
  const std::atomic<bool> stop = false;
  std::vector<HttpRequest> requests(16, Post("/", BodyFormat::kWhole, std::string(20'000, 'a')));
  for (size_t i = 0; i < requests.size(); ++i) requests[i].body += std::to_string(i);
  const std::vector<HttpResult> results = client.RunTogether(requests, {}, {}, stop);
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].error, HttpError::kNone) << results[i].message;
    EXPECT_EQ(results[i].body, requests[i].body);
    EXPECT_LE(*results[i].times.opened, *results[0].times.sent);
  }
}

TEST(HttpTlsTest, SchemesThatDoNotMatch) {
  const TlsServer server("IP:127.0.0.1");
  EXPECT_TRUE(AskAt(ParseEndpoint("http://127.0.0.1:" + server.port())).Failed());
  MockServer plain([](const MockRequest&) { return MockScript().Send(MockReply(200, "{}")); },
                   [](const MockRequest&) { return MockScript(); });
  Endpoint endpoint = ParseEndpoint("https://127.0.0.1:" + std::to_string(plain.port()));
  HttpClient client(endpoint);
  HttpRequest request = Post("/");
  request.deadlines.open_s = 0.5;
  const std::atomic<bool> stop = false;
  const HttpError error = client.Run(request, stop).error;
  EXPECT_TRUE(error == HttpError::kTls || error == HttpError::kOpenTimeout) << HttpErrorName(error);
}

TEST(HttpTlsTest, CaFileThatIsNoneIsSaidAtOnceOrWithoutItsPath) {
  Endpoint endpoint = ParseEndpoint("https://127.0.0.1:1");
  endpoint.tls.ca_cert_file = "/nowhere/ca.pem";
  try {
    const HttpClient client(endpoint);
    ADD_FAILURE() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInput);
    EXPECT_STREQ(error.what(), "/nowhere/ca.pem: cannot be read");
  }
  const TlsServer server("IP:127.0.0.1");
  const HttpResult result =
      AskAt(server.At({.ca_cert_file = "/proc/self/status", .insecure = false}));
  EXPECT_EQ(result.error, HttpError::kTls);
  EXPECT_THAT(result.message, Not(HasSubstr("/proc/self/status")));
}

}  // namespace
}  // namespace detcheck
