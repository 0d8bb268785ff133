#include "engine/embedded/safetensors.h"

#include <gtest/gtest.h>

#include "engine/base/sha256.h"
#include "tests/embedded/expect_error.h"
#include "tests/embedded/safetensors_bytes.h"
#include "tests/embedded/temp_dir.h"

namespace detcheck {
namespace {

TEST(SafetensorsFile, ReadsTensors) {
  const TempDir dir;
  const std::string bytes = SafetensorsBytes(
      R"({"__metadata__": {"format": "pt"},
          "b": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [4, 16]},
          "a": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
          "none": {"dtype": "I64", "shape": [0, 9], "data_offsets": [16, 16]}}   )",
      "AAAAbbbbbbbbbbbb");
  const SafetensorsFile file(dir.Write("m.safetensors", bytes));
  ASSERT_EQ(file.entries().size(), 3u);
  EXPECT_EQ(file.entries().at("a").bytes, "AAAA");
  EXPECT_TRUE(file.entries().at("a").shape.empty());
  EXPECT_EQ(file.entries().at("b").bytes, "bbbbbbbbbbbb");
  EXPECT_EQ(file.entries().at("b").dtype, "BF16");
  EXPECT_EQ(file.entries().at("b").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(file.entries().at("none").bytes.empty());
  EXPECT_EQ(file.Sha256Digest(), Sha256Hex(bytes));
}

/// Header with one tensor "t" of these fields.
std::string OneTensor(const std::string& fields) {
  return R"({"t": {)" + fields + "}}";
}

/// Header with tensors "t" and "u", F32 [2], at these offsets.
std::string TwoTensors(const std::string& t, const std::string& u) {
  return R"({"t": {"dtype": "F32", "shape": [2], "data_offsets": )" + t +
         R"(}, "u": {"dtype": "F32", "shape": [2], "data_offsets": )" + u + "}}";
}

TEST(SafetensorsFile, RefusesBadFiles) {
  const std::string eight = "12345678";
  struct {
    std::string bytes;
    std::string message;  ///< After "PATH: ".
  } cases[] = {
      {"", "truncated: 0 bytes, shorter than the 8-byte header length"},
      {"1234567", "truncated: 7 bytes, shorter than the 8-byte header length"},
      {SafetensorsBytes("{}", "").substr(0, 9), "header: length 2 is beyond the file of 9 bytes"},
      {std::string(8, '\xff') + "{}",
       "header: length 18446744073709551615 is beyond the file of 10 bytes"},
      {SafetensorsBytes("", ""), "header: byte 1: not valid JSON"},
      {SafetensorsBytes("{", ""), "header: byte 2: not valid JSON"},
      {SafetensorsBytes("[1]", ""), "header: not a JSON object"},
      {SafetensorsBytes(R"({"t": 1e999})", ""), "header: not valid JSON: a number is out of range"},
      {SafetensorsBytes(R"({"t": 1, "t": 2})", ""), "header: \"t\" appears twice"},
      {SafetensorsBytes(OneTensor(R"("dtype": "F32", "dtype": "F32")"), ""),
       "header: \"dtype\" appears twice"},
      {SafetensorsBytes(R"({"__metadata__": {"a": 1}})", ""),
       "header: __metadata__ is not an object of strings"},
      {SafetensorsBytes(R"({"__metadata__": "a"})", ""),
       "header: __metadata__ is not an object of strings"},
      {SafetensorsBytes(R"({"t": 1})", ""), "tensor t: not an object"},
      {SafetensorsBytes(R"({"a\nb": 1})", ""), "tensor a?b: not an object"},
      {SafetensorsBytes(OneTensor(R"("shape": [2], "data_offsets": [0, 8])"), eight),
       "tensor t: dtype is missing"},
      {SafetensorsBytes(OneTensor(R"("dtype": "F32", "data_offsets": [0, 8])"), eight),
       "tensor t: shape is missing"},
      {SafetensorsBytes(OneTensor(R"("dtype": "F32", "shape": [2])"), eight),
       "tensor t: data_offsets is missing"},
      {SafetensorsBytes(OneTensor(R"("dtype": "F32", "x": 1)"), eight),
       "tensor t: unknown field \"x\""},
      {SafetensorsBytes(OneTensor(R"("dtype": 1, "shape": [2], "data_offsets": [0, 8])"), eight),
       "tensor t: dtype is not a string"},
      {SafetensorsBytes(OneTensor(R"("dtype": "F33", "shape": [2], "data_offsets": [0, 8])"),
                        eight),
       "tensor t: unknown dtype \"F33\""},
      {SafetensorsBytes(OneTensor(R"("dtype": "F32", "shape": 2, "data_offsets": [0, 8])"), eight),
       "tensor t: shape is not a list"},
      {SafetensorsBytes(OneTensor(R"("dtype": "F32", "shape": [-2], "data_offsets": [0, 8])"),
                        eight),
       "tensor t: shape is not a list of unsigned integers"},
      {SafetensorsBytes(OneTensor(R"("dtype": "F32", "shape": [2], "data_offsets": [0])"), eight),
       "tensor t: data_offsets are not two unsigned integers"},
      {SafetensorsBytes(OneTensor(R"("dtype": "F32", "shape": [2], "data_offsets": [0, -8])"),
                        eight),
       "tensor t: data_offsets are not two unsigned integers"},
      {SafetensorsBytes(OneTensor(R"("dtype": "F32", "shape": [2], "data_offsets": [8, 0])"),
                        eight),
       "tensor t: data_offsets end 0 is before their begin 8"},
      {SafetensorsBytes(OneTensor(R"("dtype": "F32", "shape": [3], "data_offsets": [0, 8])"),
                        eight),
       "tensor t: data_offsets span 8 bytes, F32 [3] has 12"},
      {SafetensorsBytes(OneTensor(R"("dtype": "F32", "shape": [4294967296, 4294967296, 16],
                                     "data_offsets": [0, 8])"),
                        eight),
       "tensor t: data_offsets span 8 bytes, F32 [4294967296, 4294967296, 16] has more than 2^64"},
      {SafetensorsBytes(OneTensor(R"("dtype": "F32", "shape": [3], "data_offsets": [0, 12])"),
                        eight),
       "truncated: tensor t ends at data byte 12, the file has 8"},
      {SafetensorsBytes(TwoTensors("[0, 8]", "[4, 12]"), eight + "1234"),
       "tensor u: overlaps tensor t"},
      {SafetensorsBytes(TwoTensors("[0, 8]", "[0, 8]"), eight), "tensor u: overlaps tensor t"},
      {SafetensorsBytes(TwoTensors("[12, 20]", "[0, 8]"), eight + eight + "1234"),
       "tensor t: a hole of 4 bytes lies before it"},
      {SafetensorsBytes(TwoTensors("[4, 12]", "[12, 20]"), eight + eight + "1234"),
       "tensor t: a hole of 4 bytes lies before it"},
      {SafetensorsBytes(TwoTensors("[0, 8]", "[8, 16]"), eight + eight + "1234"),
       "4 bytes follow the last tensor"},
  };
  const TempDir dir;
  for (const auto& bad : cases) {
    SCOPED_TRACE(bad.message);
    const std::string path = dir.Write("bad.safetensors", bad.bytes);
    ExpectError(ErrorCode::kInput, path + ": " + bad.message, [&] { SafetensorsFile file(path); });
  }
}

TEST(SafetensorsFile, RefusesWhatIsNoFile) {
  const TempDir dir;
  const std::string missing = dir.File("none.safetensors");
  ExpectError(ErrorCode::kInput, missing + ": No such file or directory",
              [&] { SafetensorsFile file(missing); });
  ExpectError(ErrorCode::kInput, dir.path() + ": not a regular file",
              [&] { SafetensorsFile file(dir.path()); });
}

TEST(SafetensorsFile, EveryTruncationIsRefused) {
  const TempDir dir;
  const std::string bytes = SafetensorsBytes({{"a", "[2]", {1.0f, 2.0f}}, {"b", "[1, 1]", {3.0f}}});
  for (size_t len = 0; len < bytes.size(); ++len) {
    const std::string path = dir.Write("cut.safetensors", bytes.substr(0, len));
    EXPECT_THROW(SafetensorsFile file(path), Error) << len;
  }
}

TEST(SafetensorsDir, SingleFile) {
  const TempDir dir;
  dir.Write("model.safetensors", SafetensorsBytes({{"a", "[2]", {1.0f, 2.0f}}}));
  const SafetensorsDir tensors(dir.path());
  EXPECT_EQ(tensors.Find("a").entry->bytes, FloatBytes({1.0f, 2.0f}));
  EXPECT_EQ(tensors.files().size(), 1u);
  ExpectError(ErrorCode::kInput, dir.File("model.safetensors") + ": tensor b: missing",
              [&] { tensors.Find("b"); });
}

TEST(SafetensorsDir, NoWeights) {
  const TempDir dir;
  ExpectError(
      ErrorCode::kInput,
      dir.path() + ": no weights: neither model.safetensors nor model.safetensors.index.json",
      [&] { SafetensorsDir tensors(dir.path()); });
}

class ShardedTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_.Write("1.safetensors", SafetensorsBytes({{"a", "[1]", {1.0f}}, {"x", "[1]", {9.0f}}}));
    dir_.Write("2.safetensors", SafetensorsBytes({{"b", "[1]", {2.0f}}}));
  }
  void WriteIndex(const std::string& text) { dir_.Write("model.safetensors.index.json", text); }

  TempDir dir_;
};

TEST_F(ShardedTest, FindsTensorsOfAllShards) {
  WriteIndex(R"({"metadata": {"total_size": 12},
                 "weight_map": {"b": "2.safetensors", "a": "1.safetensors"}})");
  const SafetensorsDir tensors(dir_.path());
  EXPECT_EQ(tensors.Find("a").entry->bytes, FloatBytes({1.0f}));
  EXPECT_EQ(tensors.Find("b").entry->bytes, FloatBytes({2.0f}));
  EXPECT_EQ(tensors.Find("b").file->path(), dir_.File("2.safetensors"));
  EXPECT_EQ(tensors.files().size(), 2u);
  ExpectError(ErrorCode::kInput, dir_.File("model.safetensors.index.json") + ": tensor x: missing",
              [&] { tensors.Find("x"); });  // lies in a shard, but the index does not list it
}

TEST_F(ShardedTest, RefusesBadIndexes) {
  const std::string index = dir_.File("model.safetensors.index.json");
  const std::pair<std::string, std::string> cases[] = {
      {"{", index + ": byte 2: not valid JSON"},
      {"[]", index + ": not a JSON object"},
      {"{}", index + ": weight_map: missing"},
      {R"({"weight_map": []})", index + ": weight_map: not an object"},
      {R"({"weight_map": {"a": 1}})", index + ": tensor a: its file is not a string"},
      {R"({"weight_map": {"a": "1.safetensors", "a": "2.safetensors"}})",
       index + ": \"a\" appears twice"},
      {R"({"weight_map": {"a": "../1.safetensors"}})",
       index + ": tensor a: \"../1.safetensors\" is not a file name"},
      {R"({"weight_map": {"a": ""}})", index + ": tensor a: \"\" is not a file name"},
      {R"({"weight_map": {"a": "3.safetensors"}})",
       dir_.File("3.safetensors") + ": No such file or directory"},
      {R"({"weight_map": {"a": "1.safetensors", "c": "2.safetensors"}})",
       index + ": tensor c: not in 2.safetensors"},
      {R"({"weight_map": {"a": "2.safetensors", "x": "1.safetensors"}})",
       dir_.File("1.safetensors") + ": tensor a: " + index + " has it in 2.safetensors"},
  };
  for (const auto& [text, message] : cases) {
    SCOPED_TRACE(text);
    WriteIndex(text);
    ExpectError(ErrorCode::kInput, message, [&] { SafetensorsDir tensors(dir_.path()); });
  }
}

}  // namespace
}  // namespace detcheck
