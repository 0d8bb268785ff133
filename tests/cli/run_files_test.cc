#include "cli/run_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "fixtures/file_io.h"
#include "tests/cli/testing.h"

namespace detcheck {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

StepRecord SomeRecord() {
  StepRecord record;
  record.flush_accepted = true;
  return record;
}

TEST(RunFiles, NoReportNoFiles) {
  RunFiles files("");
  files.Begin("digest", "identity");
  EXPECT_EQ(files.writer(), nullptr);
  EXPECT_FALSE(files.HasEarlierRun());
  files.End(Report{}, false);
}

TEST(RunFiles, TheTranscriptGoesOnceTheReportIsWritten) {
  TempFolder folder;
  RunFiles files(folder.Path("r.json"));
  files.Begin("digest", "identity");
  files.writer()->Append(SomeRecord());
  EXPECT_TRUE(fs::exists(folder.Path("r.json.transcript.jsonl")));
  files.End(Report{}, false);
  EXPECT_TRUE(fs::exists(folder.Path("r.json")));
  EXPECT_FALSE(fs::exists(folder.Path("r.json.transcript.jsonl")));
}

TEST(RunFiles, TheTranscriptStaysWhereTheRunCanGoOn) {
  TempFolder folder;
  {
    RunFiles files(folder.Path("r.json"));
    files.Begin("digest", "identity");
    files.writer()->Append(SomeRecord());
    files.End(Report{}, true);
  }
  EXPECT_TRUE(fs::exists(folder.Path("r.json")));
  EXPECT_TRUE(fs::exists(folder.Path("r.json.transcript.jsonl")));
  RunFiles again(folder.Path("r.json"));
  EXPECT_TRUE(again.HasEarlierRun());
  EXPECT_THAT(ErrorOf([&] { again.Begin("digest", "identity"); }).message,
              HasSubstr("holds an unfinished run; go on with --resume, or remove it"));
}

TEST(RunFiles, WhatCannotBeWrittenLosesNoAnswer) {
  TempFolder folder;
  {
    RunFiles files(folder.Path("r.json"));
    files.Begin("digest", "identity");
    files.writer()->Append(SomeRecord());
    fs::create_directory(folder.Path("r.json"));
    EXPECT_FALSE(files.End(Report{}, false));
  }
  EXPECT_TRUE(fs::exists(folder.Path("r.json.transcript.jsonl")));
  EXPECT_FALSE(RunFiles("/dev/full").End(Report{}, false));
}

TEST(RunFiles, ATranscriptWithoutARecordIsRemoved) {
  TempFolder folder;
  {
    RunFiles files(folder.Path("r.json"));
    files.Begin("digest", "identity");
  }
  EXPECT_TRUE(fs::is_empty(fs::path(folder.Path("r.json")).parent_path()));
}

TEST(RunFiles, ContinueRewritesTheTranscriptAndGoesOn) {
  TempFolder folder;
  const std::string transcript = folder.Path("r.json.transcript.jsonl");
  WriteFileAtomically(transcript, "what was there\n");
  RunFiles files(folder.Path("r.json"));
  Transcript kept;
  kept.plan_digest = std::string(64, 'a');
  kept.identity = std::string(64, 'b');
  kept.records.push_back(SomeRecord());
  files.Continue(kept);
  StepRecord next = SomeRecord();
  next.step = 1;
  files.writer()->Append(next);
  const Transcript read = ReadTranscript(transcript);
  EXPECT_EQ(read.plan_digest, kept.plan_digest);
  ASSERT_EQ(read.records.size(), 2u);
  EXPECT_EQ(read.records[1].step, 1);
  EXPECT_FALSE(fs::exists(transcript + ".new"));
}

TEST(RunFiles, AReportThatCannotBeWrittenIsRefusedAtOnce) {
  TempFolder folder;
  EXPECT_THAT(ErrorOf([&] { RunFiles files(folder.Path("")); }).message,
              HasSubstr("is a directory"));
  EXPECT_THAT(ErrorOf([&] { RunFiles files(folder.Path("none/r.json")); }).message,
              HasSubstr("no such directory"));
}

}  // namespace
}  // namespace detcheck
