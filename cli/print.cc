#include "cli/print.h"

#include <cerrno>
#include <cstdio>

namespace detcheck {
namespace {

int result_errno = 0;  // of the first write to stdout that failed

void Keep(bool is_written) {
  if (!is_written && result_errno == 0) result_errno = errno;
}

}  // namespace

void PrintResult(std::string_view text) {
  Keep(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

bool FlushStdout() {
  Keep(std::fflush(stdout) == 0);
  return result_errno == 0 || result_errno == EPIPE;
}

void PrintNote(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace detcheck
