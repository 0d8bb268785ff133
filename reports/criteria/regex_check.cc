#include "reports/criteria/regex_check.h"

#include "engine/base/error.h"
#include "engine/regex/regex.h"
#include "fixtures/json_reader.h"
#include "reports/json_text.h"

namespace detcheck {
namespace {

Regex Compile(const std::string& pattern) {
  try {
    return Regex(pattern, Regex::Texts::kAny);
  } catch (const Error& error) {
    throw Error(ErrorCode::kUsage,
                "criterion regex: " + Quoted(ToUtf8(pattern)) + ": " + error.what());
  }
}

class RegexCheck : public TextCheck {
 public:
  explicit RegexCheck(const std::string& pattern) : regex_(Compile(pattern)), matcher_(regex_) {}

  TextFinding Check(const std::string& text) override {
    try {
      if (matcher_.Find(text)) return {Validity::kValid, ""};
      return {Validity::kInvalid, "the pattern does not match"};
    } catch (const Error& error) {
      return {Validity::kUnknown, error.what()};
    }
  }

 private:
  const Regex regex_;
  RegexMatcher matcher_;
};

}  // namespace

std::unique_ptr<TextCheck> MakeRegexCheck(const std::string& pattern) {
  return std::make_unique<RegexCheck>(pattern);
}

}  // namespace detcheck
