#include "reports/transcript.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>

#include "engine/base/error.h"
#include "fixtures/file_io.h"
#include "reports/transcript_line.h"

namespace detcheck {
namespace {

[[noreturn]] void ThrowErrno(const std::string& path, const char* what) {
  throw Error(ErrorCode::kInput,
              fmt::format("{}: {}: {}", OneLine(path), what, std::strerror(errno)));
}

void WriteAll(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t num_written = ::write(fd, text.data(), text.size());
    if (num_written < 0 && errno == EINTR) continue;
    if (num_written < 0) ThrowErrno(path, "cannot write");
    text.remove_prefix(static_cast<size_t>(num_written));
  }
}

// Bytes of the whole lines at the beginning of `text`.
size_t WholeLines(std::string_view text) {
  const size_t newline = text.rfind('\n');
  return newline == text.npos ? 0 : newline + 1;
}

}  // namespace

TranscriptWriter::TranscriptWriter(const std::string& path, const std::string& plan_digest,
                                   const std::string& identity, bool resume)
    : path_(path) {
  const size_t num_kept = resume ? WholeLines(ReadFile(path)) : 0;
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (resume ? 0 : O_TRUNC);
  fd_ = ::open(path.c_str(), flags, 0666);
  if (fd_ < 0) ThrowErrno(path, "cannot open");
  try {
    if (resume) {
      if (::ftruncate(fd_, static_cast<off_t>(num_kept)) != 0) ThrowErrno(path, "cannot write");
    } else {
      WriteAll(fd_, TranscriptHeaderLine(plan_digest, identity) + "\n", path_);
    }
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

TranscriptWriter::~TranscriptWriter() {
  ::close(fd_);
}

void TranscriptWriter::Append(const StepRecord& record) {
  WriteAll(fd_, TranscriptRecordLine(record) + "\n", path_);
}

std::string RecordFault(const Plan& plan, const StepRecord& record) {
  if (record.step < 0 || record.step >= std::ssize(plan.steps)) {
    return fmt::format("step: {} is no step of the plan, which has {}", record.step,
                       plan.steps.size());
  }
  const size_t num_items = plan.steps[record.step].items.size();
  const size_t num_answers = std::max(record.completions.size(), record.prompt_digests.size());
  if (num_answers <= num_items) return "";
  return fmt::format("{} answers or prompts, step {} has {} items", num_answers, record.step,
                     num_items);
}

Transcript ReadTranscript(const std::string& path) {
  const std::string text = ReadFile(path);
  const std::string_view whole = std::string_view(text).substr(0, WholeLines(text));
  if (whole.empty()) {
    throw Error(ErrorCode::kInput, OneLine(path) + ": line 1: no transcript: not one whole line");
  }
  Transcript transcript;
  int line_number = 0;
  for (size_t begin = 0; begin < whole.size();) {
    const size_t end = whole.find('\n', begin);
    const std::string_view line = whole.substr(begin, end - begin);
    const std::string place = fmt::format("{}: line {}", path, ++line_number);
    if (line_number == 1) {
      ReadTranscriptHeader(line, place, &transcript);
    } else {
      transcript.records.push_back(ReadTranscriptRecord(line, place));
    }
    begin = end + 1;
  }
  return transcript;
}

}  // namespace detcheck
