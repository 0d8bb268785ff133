#include "reports/criteria/command_check.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temp_folder.h"

namespace detcheck {
namespace {

using Words = std::vector<std::string>;

std::atomic<bool> never = false;

TextFinding RunOn(const std::string& command, const std::string& text, double deadline_s = 20.0) {
  return MakeCommandCheck(command, deadline_s, never)->Check(text);
}

std::string Failure(const std::string& command) {
  return ErrorOf([&] { MakeCommandCheck(command, 1.0, never); }, ErrorCode::kUsage);
}

TEST(SplitCommand, WordsAndQuotes) {
  EXPECT_EQ(SplitCommand(" grep\t-q  a "), (Words{"grep", "-q", "a"}));
  EXPECT_EQ(SplitCommand("grep 'a b' \"it's\" ''"), (Words{"grep", "a b", "it's", ""}));
  EXPECT_EQ(SplitCommand("a'b c'd"), (Words{"ab cd"}));
  EXPECT_EQ(SplitCommand(R"(echo \ $HOME * ; |)"), (Words{"echo", "\\", "$HOME", "*", ";", "|"}));
}

TEST(SplitCommand, WhatIsNoCommand) {
  EXPECT_EQ(ErrorOf([] { SplitCommand("grep 'a"); }, ErrorCode::kUsage),
            "criterion command: \"grep 'a\": a ' is never closed");
  EXPECT_EQ(ErrorOf([] { SplitCommand(" "); }, ErrorCode::kUsage),
            "criterion command: \" \": names no program");
  EXPECT_EQ(ErrorOf([] { SplitCommand("'' a"); }, ErrorCode::kUsage),
            "criterion command: \"'' a\": names no program");
  EXPECT_EQ(ErrorOf([] { SplitCommand(std::string("a\0b", 3)); }, ErrorCode::kUsage),
            "criterion command: \"a\\u0000b\": holds a NUL");
}

TEST(CommandCheck, TheExitCodeDecides) {
  EXPECT_EQ(RunOn("grep -q b", "abc"), (TextFinding{Validity::kValid, ""}));
  EXPECT_EQ(RunOn("grep -q d", "abc"),
            (TextFinding{Validity::kInvalid, "the command ended with exit code 1"}));
  EXPECT_EQ(RunOn("sh -c 'exit 7'", ""),
            (TextFinding{Validity::kInvalid, "the command ended with exit code 7"}));
}

TEST(CommandCheck, TheTextIsOnStandardInputWhole) {
  EXPECT_EQ(RunOn("sh -c 'test $(wc -c) = 3000000'", std::string(3'000'000, 'x')).validity,
            Validity::kValid);
  EXPECT_EQ(RunOn("sh -c 'test -z \"$(cat)\"'", "").validity, Validity::kValid);
  EXPECT_EQ(RunOn("sh -c 'test -z \"$(cat)\"'", "x").validity, Validity::kInvalid);
}

TEST(CommandCheck, ACommandThatReadsNothingAndWritesMuch) {
  EXPECT_EQ(RunOn("true", std::string(3'000'000, 'x')).validity, Validity::kValid);
  EXPECT_EQ(RunOn("sh -c 'head -c 3000000 /dev/zero; echo x >&2'", "").validity, Validity::kValid);
}

TEST(CommandCheck, SignalsAreThoseOfAnyProgram) {
  const auto before = signal(SIGPIPE, SIG_IGN);
  // Where SIGPIPE is ignored, yes says so and goes on to fail instead of ending quietly.
  EXPECT_EQ(RunOn("sh -c 'yes | true; trap - PIPE; kill -PIPE $$'", "").why,
            "the command was ended by signal " + std::to_string(SIGPIPE));
  signal(SIGPIPE, before);
}

TEST(CommandCheck, NoShell) {
  EXPECT_EQ(RunOn("grep -q $HOME", "$HOME").validity, Validity::kValid);
  EXPECT_EQ(RunOn("test a = a ; false", "").validity, Validity::kInvalid);
}

TEST(CommandCheck, TheDeadlineKillsWithAllThatWasStarted) {
  const TempFolder folder;
  const std::string late = folder.File("late");
  const auto began = std::chrono::steady_clock::now();
  const TextFinding finding = RunOn("sh -c '(sleep 3; touch " + late + ") & sleep 30'", "", 0.2);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  EXPECT_EQ(finding, (TextFinding{Validity::kUnknown, "the command did not end in 0.2 s"}));
  EXPECT_LT(took.count(), 10.0);
  std::this_thread::sleep_for(std::chrono::milliseconds(3500));
  EXPECT_NE(access(late.c_str(), F_OK), 0);
}

TEST(CommandCheck, KilledByASignalIsUnknown) {
  EXPECT_EQ(RunOn("sh -c 'kill -9 $$'", ""),
            (TextFinding{Validity::kUnknown, "the command was ended by signal 9"}));
}

TEST(CommandCheck, WhatIsNoProgram) {
  const TempFolder folder;
  const std::string path = folder.File("script");
  EXPECT_EQ(Failure("detcheck-no-such-program -x"),
            "criterion command: \"detcheck-no-such-program\": no such program");
  EXPECT_EQ(Failure(path), "criterion command: \"" + path + "\": no such program");
  std::ofstream(path) << "#!/bin/sh\nexit 0\n";
  EXPECT_EQ(Failure(path), "criterion command: \"" + path + "\": no such program");
  EXPECT_EQ(Failure("/tmp"), "criterion command: \"/tmp\": no such program");
}

TEST(CommandCheck, AProgramThatGoesAwayIsUnknown) {
  const TempFolder folder;
  const std::string path = folder.File("script");
  std::ofstream(path) << "#!/bin/sh\nexit 0\n";
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  const auto check = MakeCommandCheck(path, 20.0, never);
  EXPECT_EQ(check->Check("").validity, Validity::kValid);
  unlink(path.c_str());
  EXPECT_EQ(
      check->Check(""),
      (TextFinding{Validity::kUnknown, "the command cannot be run: No such file or directory"}));
}

TEST(CommandCheck, NothingIsBegunAfterAnInterruption) {
  std::atomic<bool> stop = false;
  const auto check = MakeCommandCheck("true", 20.0, stop);
  EXPECT_EQ(check->Check("").validity, Validity::kValid);
  stop = true;
  EXPECT_EQ(check->Check(""),
            (TextFinding{Validity::kUnknown, "interrupted before the command was run"}));
}

}  // namespace
}  // namespace detcheck
