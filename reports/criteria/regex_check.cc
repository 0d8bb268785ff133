#include "reports/criteria/regex_check.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "engine/base/error.h"
#include "fixtures/json_reader.h"
#include "reports/json_text.h"

namespace detcheck {
namespace {

constexpr uint32_t kMatchLimit = 10'000'000;
constexpr uint32_t kHeapLimitKib = 256 * 1024;

std::string InWords(int error_code) {
  std::array<PCRE2_UCHAR, 256> text = {};
  pcre2_get_error_message(error_code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

PCRE2_SPTR Bytes(const std::string& text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

struct Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

template <typename T>
std::unique_ptr<T, Free> Owned(T* made) {
  if (made == nullptr) throw Error(ErrorCode::kInternal, "PCRE2: out of memory");
  return std::unique_ptr<T, Free>(made);
}

pcre2_code* Compile(const std::string& pattern) {
  int error_code = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code = pcre2_compile(Bytes(pattern), pattern.size(),
                                   PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C,
                                   &error_code, &at, nullptr);
  if (code != nullptr) return code;
  throw Error(ErrorCode::kUsage, "criterion regex: " + Quoted(ToUtf8(pattern)) + ": at byte " +
                                     std::to_string(at) + ": " + InWords(error_code));
}

class RegexCheck : public TextCheck {
 public:
  explicit RegexCheck(const std::string& pattern)
      : code_(Compile(pattern)),
        data_(Owned(pcre2_match_data_create_from_pattern(code_.get(), nullptr))),
        context_(Owned(pcre2_match_context_create(nullptr))) {
    pcre2_set_match_limit(context_.get(), kMatchLimit);
    pcre2_set_heap_limit(context_.get(), kHeapLimitKib);
  }

  TextFinding Check(const std::string& text) override {
    const int result =
        pcre2_match(code_.get(), Bytes(text), text.size(), 0, 0, data_.get(), context_.get());
    if (result >= 0) return {Validity::kValid, ""};
    if (result == PCRE2_ERROR_NOMATCH) return {Validity::kInvalid, "the pattern does not match"};
    return {Validity::kUnknown, "the match was given up: " + InWords(result)};
  }

 private:
  std::unique_ptr<pcre2_code, Free> code_;
  std::unique_ptr<pcre2_match_data, Free> data_;
  std::unique_ptr<pcre2_match_context, Free> context_;
};

}  // namespace

std::unique_ptr<TextCheck> MakeRegexCheck(const std::string& pattern) {
  return std::make_unique<RegexCheck>(pattern);
}

}  // namespace detcheck
