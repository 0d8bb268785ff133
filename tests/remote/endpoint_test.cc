#include "engine/remote/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "engine/base/error.h"

namespace detcheck {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The message with which `url` is refused.
std::string Refusal(const std::string& url) {
  try {
    ParseEndpoint(url);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    return error.what();
  }
  ADD_FAILURE() << url << " was taken";
  return "";
}

TEST(EndpointTest, PartsOfAUrl) {
  const Endpoint endpoint = ParseEndpoint("https://models.example:8443/team/v2//");
  EXPECT_TRUE(endpoint.https);
  EXPECT_EQ(endpoint.host, "models.example");
  EXPECT_EQ(endpoint.port, 8443);
  EXPECT_EQ(endpoint.base_path, "/team/v2");
  EXPECT_EQ(endpoint.Url("/v1/models?x=y"), "https://models.example:8443/team/v2/v1/models?x=y");
  EXPECT_EQ(ParseEndpoint("http://a").port, 80);
  EXPECT_EQ(ParseEndpoint("https://a/").port, 443);
  EXPECT_EQ(ParseEndpoint("https://a/").base_path, "");
  EXPECT_EQ(ParseEndpoint("http://[::1]:30000").Url("/generate"), "http://[::1]:30000/generate");
}

TEST(EndpointTest, LabelNamesNoForeignHost) {
  EXPECT_EQ(ParseEndpoint("http://127.0.0.1:8000/v1").label, "http://127.0.0.1:8000");
  EXPECT_EQ(ParseEndpoint("http://localhost").label, "http://localhost:80");
  EXPECT_EQ(ParseEndpoint("http://[::1]:8").label, "http://[::1]:8");
  EXPECT_EQ(ParseEndpoint("https://gpu7.corp.example/x").label, "https server, port 443");
  EXPECT_EQ(ParseEndpoint("http://127.evil.example").label, "http server, port 80");
}

TEST(EndpointTest, WhatIsRefused) {
  EXPECT_THAT(Refusal("localhost:8000"), HasSubstr("does not begin with http://"));
  EXPECT_THAT(Refusal("ftp://a"), HasSubstr("does not begin with http://"));
  EXPECT_THAT(Refusal("http://"), HasSubstr("the host is missing"));
  EXPECT_THAT(Refusal("http://:80"), HasSubstr("the host is missing"));
  EXPECT_THAT(Refusal("http://a:"), HasSubstr("the port is missing"));
  EXPECT_THAT(Refusal("http://[::1]:"), HasSubstr("the port is missing"));
  EXPECT_THAT(Refusal("http://[::1"), HasSubstr("']' is missing"));
  for (const char* port : {"0", "65536", "8x", "-1", "99999999999"}) {
    EXPECT_THAT(Refusal(std::string("http://a:") + port), HasSubstr("1 .. 65535")) << port;
  }
  EXPECT_THAT(Refusal("http://a/b?c=d"), HasSubstr("has a query"));
  EXPECT_THAT(Refusal("http://a/b#c"), HasSubstr("has a fragment"));
  EXPECT_THAT(Refusal("http://a b"), HasSubstr("has a blank"));
  EXPECT_THAT(Refusal("http://a\r\nX: y"), HasSubstr("has a blank or a control character"));
}

TEST(EndpointTest, PasswordIsRefusedAndNotRepeated) {
  for (const char* url : {"http://alice:hunter2@host:80/x", "http://hunter2@host",
                          "http://alice:hunter2@host:80/x?api_key=hunter2"}) {
    const std::string message = Refusal(url);
    EXPECT_THAT(message, Not(HasSubstr("hunter2"))) << url;
    EXPECT_THAT(message, Not(HasSubstr("alice"))) << url;
  }
}

TEST(EndpointTest, UrlInMessage) {
  EXPECT_EQ(UrlInMessage("https://u:p@h:1/a?token=s#f"), "https://h:1/a");
  EXPECT_EQ(UrlInMessage("https://u:p/w@h/a"), "https://h/a");
  EXPECT_EQ(UrlInMessage("//u@h/a"), "//h/a");
  EXPECT_EQ(UrlInMessage("/elsewhere?token=s"), "/elsewhere");
  EXPECT_EQ(UrlInMessage("/a\nb"), "/a?b");
  EXPECT_EQ(UrlInMessage(std::string(500, 'a')).size(), 200u);
}

TEST(EndpointTest, KeyFromEnvironment) {
  setenv("DETCHECK_TEST_KEY", "s3cret", 1);
  EXPECT_EQ(KeyFromEnvironment("DETCHECK_TEST_KEY"), "s3cret");
  for (const char* value : {"", "two words", "s3cret\r\nX-Injected: 1"}) {
    setenv("DETCHECK_TEST_KEY", value, 1);
    try {
      KeyFromEnvironment("DETCHECK_TEST_KEY");
      ADD_FAILURE() << "taken: " << value;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      EXPECT_THAT(error.what(), HasSubstr("DETCHECK_TEST_KEY"));
      EXPECT_THAT(error.what(), Not(HasSubstr("s3cret")));
    }
  }
  unsetenv("DETCHECK_TEST_KEY");
  EXPECT_THROW(KeyFromEnvironment("DETCHECK_TEST_KEY"), Error);
}

}  // namespace
}  // namespace detcheck
