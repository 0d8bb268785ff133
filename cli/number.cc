#include "cli/number.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "engine/base/error.h"
#include "fixtures/file_io.h"

namespace detcheck {
namespace {

// Whether all of `text` is a number, and which.
template <typename Number>
bool ReadNumber(const std::string& text, Number* value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && rest == end;
}

[[noreturn]] void Refuse(const std::string& option, const std::string& text,
                         const std::string& wanted) {
  throw Error(ErrorCode::kUsage,
              fmt::format("{} {}: not {}", option, text.empty() ? "''" : OneLine(text), wanted));
}

}  // namespace

int64_t ParseWhole(const std::string& option, const std::string& text, int64_t low, int64_t high) {
  int64_t value = 0;
  if (!ReadNumber(text, &value) || value < low || value > high) {
    Refuse(option, text, fmt::format("a whole number from {} to {}", low, high));
  }
  return value;
}

std::vector<int> ParseWholeList(const std::string& option, const std::string& text, int low,
                                int high) {
  std::vector<int> values;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    int value = 0;
    if (!ReadNumber(text.substr(begin, end - begin), &value) || value < low || value > high) {
      Refuse(option, text, fmt::format("whole numbers from {} to {} between commas", low, high));
    }
    values.push_back(value);
    begin = end + 1;
  }
  return values;
}

double ParseReal(const std::string& option, const std::string& text, double low, double high) {
  double value = 0.0;
  if (!ReadNumber(text, &value) || !std::isfinite(value) || value < low || value > high) {
    Refuse(option, text,
           high < std::numeric_limits<double>::max()
               ? fmt::format("a number from {:g} to {:g}", low, high)
               : fmt::format("a finite number of {:g} or more", low));
  }
  return value;
}

}  // namespace detcheck
