#include "reports/transcript.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>

#include "engine/base/error.h"
#include "fixtures/file_io.h"
#include "reports/transcript_line.h"
#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

using ::testing::HasSubstr;

class TranscriptFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("detcheck-transcript-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / "run.transcript.jsonl").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string MessageOf() const {
    try {
      ReadTranscript(path_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInput);
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path folder_;
  std::string path_;
};

StepRecord FullRecord() {
  StepRecord record;
  record.step = 3;
  record.attempt = 1;
  record.launch = 2;
  record.voided = "missed witness: \"formed\"\n";
  record.error = "503";
  record.detail = "busy";
  record.flush_accepted = true;
  record.started_s = 0.1;
  record.ended_s = 1e-9;
  record.prompt_digests = {std::string(64, 'a'), std::string(64, 'b')};
  record.engine_steps = {{0, 1, {{0, 12, false}, {1, 7, false}}}, {1, 9, {{1, 1, true}}}};
  record.scores = {{-0.25, {}}, {-0.1, {{7, -0.1}}}};
  Completion answer = Says({1, 2, 3});
  answer.text = std::string("caf\xC3\xA9 \xFF");
  answer.witness.slot = 4;
  answer.witness.same_step_prefill_tokens = 5;
  answer.witness.interleaved_prefill_tokens = 6;
  answer.witness.preemptions = 1;
  answer.witness.chunk_ends = {16, 32};
  answer.times = {0.5, 0.75, 1.0 / 3.0};
  record.completions = {answer, Broken("stream ended")};
  return record;
}

TEST(TranscriptLine, KeepsEverything) {
  const std::string line = TranscriptRecordLine(FullRecord());
  const StepRecord back = ReadTranscriptRecord(line, "f");
  EXPECT_EQ(TranscriptRecordLine(back), line);
  EXPECT_EQ(back.voided, FullRecord().voided);
  EXPECT_EQ(back.completions[0].text, FullRecord().completions[0].text);
  EXPECT_EQ(back.completions[0].logprobs, FullRecord().completions[0].logprobs);
  EXPECT_EQ(back.completions[0].witness.chunk_ends, std::vector<int>({16, 32}));
  EXPECT_EQ(back.completions[0].times.last_token, 1.0 / 3.0);
  EXPECT_EQ(back.completions[1].error, "stream ended");
  EXPECT_EQ(back.engine_steps[0].rows, FullRecord().engine_steps[0].rows);
  EXPECT_EQ(back.scores, FullRecord().scores);
}

TEST(TranscriptLine, KeepsTheBitsOfLogprobs) {
  const double numbers[] = {0.0,
                            -0.0,
                            -0.1,                        // Not a float32.
                            static_cast<double>(-0.1F),  // One.
                            std::nextafter(-1.0, 0.0),
                            std::numeric_limits<double>::denorm_min(),
                            -std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN(),
                            std::bit_cast<double>(0x7FF0DEADBEEF0001ULL),
                            -1e308};
  for (const double number : numbers) {
    StepRecord record;
    record.scores = {{number, {{-7, number}, {1 << 30, -1.5}}}, {-0.5, {}}};
    const StepRecord back = ReadTranscriptRecord(TranscriptRecordLine(record), "f");
    EXPECT_EQ(std::bit_cast<uint64_t>(back.scores[0].logprob), std::bit_cast<uint64_t>(number));
    EXPECT_EQ(std::bit_cast<uint64_t>(back.scores[0].top[0].logprob),
              std::bit_cast<uint64_t>(number));
    EXPECT_EQ(back.scores[0].top[0].id, -7);
    EXPECT_EQ(back.scores[0].top[1].id, 1 << 30);
    EXPECT_TRUE(back.scores[1].top.empty());
  }
}

TEST(TranscriptLine, Float32TakesHalfTheRoom) {
  StepRecord record;
  record.scores = {{static_cast<double>(-0.1F), {}}};
  EXPECT_THAT(TranscriptRecordLine(record), HasSubstr(R"({"chosen":"zczMvQ==","type":"f32"})"));
  record.scores = {{-0.1, {}}};
  EXPECT_THAT(TranscriptRecordLine(record), HasSubstr(R"({"chosen":"mpmZmZmZub8=","type":"f64"})"));
}

TEST_F(TranscriptFile, RoundTrip) {
  {
    TranscriptWriter writer(path_, "plan", "who", false);
    writer.Append(FullRecord());
    EXPECT_EQ(ReadTranscript(path_).records.size(), 1U);  // There before the writer is closed.
    writer.Append(StepRecord{});
  }
  const Transcript transcript = ReadTranscript(path_);
  EXPECT_EQ(transcript.plan_digest, "plan");
  EXPECT_EQ(transcript.identity, "who");
  ASSERT_EQ(transcript.records.size(), 2U);
  EXPECT_EQ(transcript.records[0].step, 3);
  EXPECT_FALSE(transcript.complete);
}

TEST_F(TranscriptFile, TornLastLineIsDroppedAndCutOff) {
  TranscriptWriter(path_, "plan", "who", false).Append(FullRecord());
  const std::string whole = ReadFile(path_);
  WriteFileAtomically(path_, whole + whole.substr(0, 40));
  EXPECT_EQ(ReadTranscript(path_).records.size(), 1U);
  TranscriptWriter(path_, "plan", "who", true).Append(StepRecord{});
  EXPECT_EQ(ReadFile(path_), whole + TranscriptRecordLine(StepRecord{}) + "\n");
}

TEST_F(TranscriptFile, BadFiles) {
  EXPECT_THAT(MessageOf(), HasSubstr("run.transcript.jsonl: "));  // There is none.
  const std::string header =
      R"({"identity":"i","plan_sha256":"p","schema":"detcheck.transcript/1"})";
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"", "line 1: no transcript"},
      {"{\"schema\":\"detcheck.tra", "line 1: no transcript"},
      {"{}\n", "line 1: field \"schema\" is missing"},
      {"{\"schema\":\"detcheck.transcript/2\"}\n", "line 1: schema: \"detcheck.transcript/2\""},
      {"HEADER\n{\"step\":0}\n", "line 2: field \"attempt\" is missing"},
      {"HEADER\n{\"attempt\":0,\"step\":-1}\n", "line 2: step: -1 is below 0"},
      {"HEADER\n{\"attempt\":0,\"step\":0,\"more\":1}\n", "line 2: unknown field \"more\""},
      {"HEADER\n{\"attempt\":0,\"attempt\":0}\n", "line 2: duplicate field \"attempt\""},
      {"HEADER\n{\"attempt\":0,\n", "line 2: line 1, column 14"},
      {"HEADER\n\n", "line 2: "},
  };
  for (const auto& test : cases) {
    std::string text = test.text;
    if (text.starts_with("HEADER")) text = header + text.substr(6);
    WriteFileAtomically(path_, text);
    EXPECT_THAT(MessageOf(), HasSubstr(test.message)) << text;
  }
}

TEST_F(TranscriptFile, CannotBeWritten) {
  try {
    TranscriptWriter((folder_ / "none" / "x").string(), "", "", false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInput);
    EXPECT_THAT(error.what(), HasSubstr("cannot open: No such file or directory"));
  }
}

TEST(TranscriptLine, EveryTruncationAndEveryChangedByteIsReadOrRefused) {
  const std::string whole = TranscriptRecordLine(FullRecord());
  const auto read = [&](const std::string& line) {
    try {
      ReadTranscriptRecord(line, "f");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInput);
    }
  };
  for (size_t len = 0; len < whole.size(); ++len) read(whole.substr(0, len));
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const char byte : {'"', '9', '[', '\0', '\xFF'}) {
      std::string changed = whole;
      changed[i] = byte;
      read(changed);
    }
  }
}

TEST(RecordFault, WhatCannotBeOfThePlan) {
  const RunBuilder run = SteadyRun(Says({1, 2}));
  const Plan& plan = run.plan();
  StepRecord record = run.transcript().records[0];
  EXPECT_EQ(RecordFault(plan, record), "");
  record.completions.clear();
  EXPECT_EQ(RecordFault(plan, record), "") << "fewer answers are a fact of the target";
  record.completions.assign(2, Says({1}));
  EXPECT_EQ(RecordFault(plan, record), "2 answers or prompts, step 0 has 1 items");
  record.completions.clear();
  record.prompt_digests.assign(2, "");
  EXPECT_EQ(RecordFault(plan, record), "2 answers or prompts, step 0 has 1 items");
  record.step = 8;
  EXPECT_EQ(RecordFault(plan, record), "step: 8 is no step of the plan, which has 8");
}

TEST(TranscriptLine, BadLogprobs) {
  const char* blocks[] = {
      R"({"chosen":"zczMvQ==","type":"f16"})",
      R"({"chosen":"zczMv","type":"f32"})",
      R"({"chosen":"zczM","type":"f32"})",
      R"({"chosen":"zczMvR==","type":"f32"})",
      R"({"chosen":"zczMvQ==","top":"zczMvQ==","type":"f32"})",
      R"({"chosen":"zczMvQ==","top":"zczMvQ==","top_ids":"AAAAAA==","top_n":2,"type":"f32"})",
      R"({"chosen":"zczMvQ==","top":"zczMvQ==","top_ids":"AAAAAA==","top_n":[1,0],"type":"f32"})",
      R"({"chosen":"zczMvQ==","top":"zczMvQ==","top_ids":"AAAA","top_n":1,"type":"f32"})",
      R"({"chosen":"zczMvQ==","top":"zczMvQ==","top_ids":"AAAAAA==","top_n":-1,"type":"f32"})",
  };
  for (const char* block : blocks) {
    const std::string line = std::string(R"({"attempt":0,"ended_s":0,"launch":0,"scores":)") +
                             block + R"(,"started_s":0,"step":0})";
    EXPECT_THROW(ReadTranscriptRecord(line, "f"), Error) << block;
  }
}

}  // namespace
}  // namespace detcheck
