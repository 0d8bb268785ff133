#include "engine/embedded/model_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "engine/base/sha256.h"
#include "tests/embedded/expect_error.h"
#include "tests/embedded/temp_dir.h"

namespace detcheck {
namespace {

const std::string kRevision(40, 'a');

std::map<std::string, std::string> Described(const std::string& dir) {
  std::map<std::string, std::string> values;
  for (const ManifestField& field : DescribeModelFiles(dir)) {
    EXPECT_EQ(field.source, field.value.empty() ? FieldSource::kUnknown : FieldSource::kObserved)
        << field.name;
    values[field.name] = field.value;
  }
  return values;
}

TEST(ModelFiles, WhatIsNotThereIsUnknown) {
  const TempDir dir;
  const auto values = Described(dir.path());
  ASSERT_EQ(values.size(), 5u);
  for (const auto& [name, value] : values) EXPECT_EQ(value, "") << name;
}

TEST(ModelFiles, Digests) {
  const TempDir dir;
  dir.Write("config.json", "{\"a\": 1}");
  dir.Write("tokenizer.json", "{}");
  dir.Write("tokenizer_config.json", R"({"chat_template": "{{ x }}"})");
  auto values = Described(dir.path());
  EXPECT_EQ(values["model.config_sha256"], Sha256Hex("{\"a\": 1}"));
  EXPECT_EQ(values["model.tokenizer_sha256"], Sha256Hex("{}"));
  EXPECT_EQ(values["model.chat_template_sha256"], Sha256Hex("{{ x }}"));
  dir.Write("chat_template.jinja", "{{ y }}");
  EXPECT_EQ(Described(dir.path())["model.chat_template_sha256"], Sha256Hex("{{ y }}"))
      << "the file goes before the field";
}

TEST(ModelFiles, ReadsFilesAnewAtEachCall) {
  const TempDir dir;
  dir.Write("tokenizer.json", "{}");
  EXPECT_EQ(Described(dir.path())["model.tokenizer_sha256"], Sha256Hex("{}"));
  dir.Write("tokenizer.json", "{ }");
  EXPECT_EQ(Described(dir.path())["model.tokenizer_sha256"], Sha256Hex("{ }"));
}

TEST(ModelFiles, ATokenizerConfigThatIsNoJson) {
  const TempDir dir;
  const std::string file = dir.Write("tokenizer_config.json", "{");
  ExpectError(ErrorCode::kInput, file + ": not JSON", [&] { DescribeModelFiles(dir.path()); });
  dir.Write("tokenizer_config.json", "{}");
  EXPECT_EQ(Described(dir.path())["model.chat_template_sha256"], "");
}

TEST(ModelFiles, TheHubsCacheTellsIdAndRevision) {
  const TempDir dir;
  const std::string snapshot = dir.File("models--Qwen--Qwen3-0.6B/snapshots/" + kRevision);
  std::filesystem::create_directories(snapshot);
  auto values = Described(snapshot + "/");
  EXPECT_EQ(values["model.id"], "Qwen/Qwen3-0.6B");
  EXPECT_EQ(values["model.revision"], kRevision);
  EXPECT_EQ(ModelNameOf(snapshot), "Qwen3-0.6B");
  const std::string other = dir.File("mine/snapshots/" + kRevision);
  std::filesystem::create_directories(other);
  EXPECT_EQ(Described(other)["model.id"], "");
  EXPECT_EQ(Described(other)["model.revision"], "");
}

TEST(ModelFiles, ADownloadTellsItsRevision) {
  const TempDir dir;
  std::filesystem::create_directories(dir.File(".cache/huggingface/download"));
  dir.Write(".cache/huggingface/download/config.json.metadata", kRevision + "\nabc\n1.5\n");
  EXPECT_EQ(Described(dir.path())["model.revision"], kRevision);
  dir.Write(".cache/huggingface/download/config.json.metadata", "main\n");
  EXPECT_EQ(Described(dir.path())["model.revision"], "");
}

TEST(ModelFiles, ANameIsNotTheUsers) {
  const TempDir dir;
  std::filesystem::create_directories(dir.File("alice"));
  EXPECT_EQ(ModelNameOf(dir.File("alice")), "alice");
  setenv("USER", "alice", 1);
  EXPECT_EQ(ModelNameOf(dir.File("alice")), "(private)");
  unsetenv("USER");
}

}  // namespace
}  // namespace detcheck
