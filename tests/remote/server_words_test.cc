// What servers say: errors in all their shapes, metrics, claims.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/remote/claims.h"
#include "engine/remote/prometheus.h"
#include "engine/remote/server_error.h"

namespace detcheck {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string ErrorOf(const char* json) {
  return ErrorIn(ParseJson(json).root);
}

TEST(ServerError, EveryShape) {
  EXPECT_EQ(ErrorOf(R"({"error": {"message": "too long", "type": "x", "code": 400}})"), "too long");
  EXPECT_EQ(ErrorOf(R"({"error": "Unauthorized"})"), "Unauthorized");
  EXPECT_EQ(ErrorOf(R"({"error": "slow down", "error_type": "overloaded"})"), "slow down");
  EXPECT_EQ(ErrorOf(R"({"object": "error", "message": "bad", "code": 400})"), "bad");
  EXPECT_NE(ErrorOf(R"({"error": {}})"), "");
}

TEST(ServerError, AnswersAreNoErrors) {
  EXPECT_EQ(ErrorOf(R"({"text": "error", "meta_info": {}})"), "");
  EXPECT_EQ(ErrorOf(R"({"error": null, "choices": []})"), "");
  EXPECT_EQ(ErrorOf(R"({"object": "text_completion", "message": "x"})"), "");
}

TEST(ServerError, WhatAnAnswerThatFailedSays) {
  HttpResult result;
  result.error = HttpError::kStatus;
  result.status = 422;
  result.message = "status 422";
  result.body = R"({"detail": [{"loc": ["body", "prompt"], "msg": "field required"}]})";
  EXPECT_EQ(WhyFailed(result, ""), "status 422: body.prompt: field required");
  result.body = "plain words";
  EXPECT_EQ(WhyFailed(result, ""), "status 422: plain words");
  result.body = "";
  EXPECT_EQ(WhyFailed(result, ""), "status 422");
}

TEST(ServerError, SecretsPathsAndControlCharactersAreNotShown) {
  EXPECT_EQ(Shown("Incorrect key sk-abc: no", "sk-abc"), "Incorrect key (key): no");
  EXPECT_THAT(Shown("cannot open /home/alice/models/x.bin", ""), Not(HasSubstr("alice")));
  EXPECT_EQ(Shown("a\nb\x1b[31m\xff", ""), "a?b?[31m?");
  EXPECT_LE(Shown(std::string(5000, 'x'), "").size(), 300u);
}

TEST(Metrics, LinesWithAndWithoutLabels) {
  const Metrics metrics(
      "# HELP x y\nvllm:num_requests_running{engine=\"0\",model_name=\"a}b\"} 3.0\r\n"
      "vllm:num_requests_running{engine=\"1\"} 2\nup 1\nbroken{ 3\nnovalue\n"
      "info{block_size=\"16\",size=\"8\"} 1.0");
  EXPECT_EQ(metrics.Sum("vllm:num_requests_running"), 5.0);
  EXPECT_EQ(metrics.Max("vllm:num_requests_running"), 3.0);
  EXPECT_EQ(metrics.Sum("up"), 1.0);
  EXPECT_EQ(metrics.Sum("missing"), std::nullopt);
  ASSERT_NE(metrics.Find("info"), nullptr);
  EXPECT_EQ(metrics.Find("info")->Label("size"), "8") << "not the end of block_size";
  EXPECT_EQ(metrics.Find("info")->Label("block_size"), "16");
  EXPECT_EQ(metrics.Find("info")->Label("none"), "");
}

TEST(Claims, ModelsByHubIdAndByPath) {
  Claims hub;
  hub.AddModel("Qwen/Qwen3-8B");
  ASSERT_EQ(hub.manifest().size(), 2u);
  EXPECT_EQ(hub.manifest()[0].value, "Qwen3-8B");
  EXPECT_EQ(hub.manifest()[1].name, "model.id");
  Claims path;
  path.AddModel("/srv/secret/tiny");
  ASSERT_EQ(path.manifest().size(), 1u);
  EXPECT_EQ(path.manifest()[0].value, "tiny");
  EXPECT_EQ(path.manifest()[0].source, FieldSource::kClaimed);
}

TEST(Claims, OnlyAllowedArgumentsAreShown) {
  const ParsedJson info =
      ParseJson(R"({"api_key": "sk-1", "random_seed": 42, "load_format": null})");
  Claims claims;
  claims.AddArguments(info.root, {"random_seed", "load_format"});
  ASSERT_EQ(claims.manifest().size(), 1u);
  EXPECT_EQ(claims.manifest()[0].value, "random_seed=42");
}

}  // namespace
}  // namespace detcheck
