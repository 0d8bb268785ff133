#include "engine/regex/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "engine/base/error.h"

namespace detcheck {
namespace {

constexpr uint32_t kMatchLimit = 10'000'000;
constexpr uint32_t kHeapLimitKib = 256 * 1024;
constexpr size_t kFirstStackBytes = size_t{32} << 10;
constexpr size_t kMostStackBytes = size_t{64} << 20;

std::string InWords(int error_code) {
  std::array<PCRE2_UCHAR, 256> text = {};
  pcre2_get_error_message(error_code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

PCRE2_SPTR Bytes(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

struct Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};

template <typename T>
std::unique_ptr<T, Free> Owned(T* made) {
  if (made == nullptr) throw Error(ErrorCode::kInternal, "PCRE2: out of memory");
  return std::unique_ptr<T, Free>(made);
}

std::unique_ptr<pcre2_code, Free> Compile(const std::string& pattern, uint32_t options) {
  int error_code = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code =
      pcre2_compile(Bytes(pattern), pattern.size(), options, &error_code, &at, nullptr);
  if (code != nullptr) return Owned(code);
  throw Error(ErrorCode::kInput, "at byte " + std::to_string(at) + ": " + InWords(error_code));
}

}  // namespace

struct Regex::Code {
  std::unique_ptr<pcre2_code, Free> code;
  uint32_t match_options = 0;
  bool is_machine_code = false;
};

Regex::Regex(const std::string& pattern, Texts texts) : code_(std::make_unique<Code>()) {
  constexpr uint32_t kAlways = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C;
  if (texts == Texts::kAny) {
    code_->code = Compile(pattern, kAlways | PCRE2_MATCH_INVALID_UTF);
    return;
  }
  code_->code = Compile(pattern, kAlways);
  code_->match_options = PCRE2_NO_UTF_CHECK;
  code_->is_machine_code = pcre2_jit_compile(code_->code.get(), PCRE2_JIT_COMPLETE) == 0;
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

bool Regex::may_match_empty() const {
  uint32_t may = 1;
  pcre2_pattern_info(code_->code.get(), PCRE2_INFO_MATCHEMPTY, &may);
  return may != 0;
}

struct RegexMatcher::Memory {
  std::unique_ptr<pcre2_match_data, Free> data;
  std::unique_ptr<pcre2_match_context, Free> context;
  std::unique_ptr<pcre2_jit_stack, Free> stack;  ///< Of machine code only.
};

std::string RegexLibraryVersion() {
  std::string version(static_cast<size_t>(pcre2_config(PCRE2_CONFIG_VERSION, nullptr)), '\0');
  pcre2_config(PCRE2_CONFIG_VERSION, version.data());
  version.resize(version.find_last_not_of('\0') + 1);
  return version;
}

RegexMatcher::RegexMatcher(const Regex& regex)
    : regex_(&regex), memory_(std::make_unique<Memory>()) {
  memory_->data = Owned(pcre2_match_data_create_from_pattern(regex.code_->code.get(), nullptr));
  memory_->context = Owned(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(memory_->context.get(), kMatchLimit);
  pcre2_set_heap_limit(memory_->context.get(), kHeapLimitKib);
  if (!regex.code_->is_machine_code) return;
  memory_->stack = Owned(pcre2_jit_stack_create(kFirstStackBytes, kMostStackBytes, nullptr));
  pcre2_jit_stack_assign(memory_->context.get(), nullptr, memory_->stack.get());
}

RegexMatcher::~RegexMatcher() = default;
RegexMatcher::RegexMatcher(RegexMatcher&&) noexcept = default;
RegexMatcher& RegexMatcher::operator=(RegexMatcher&&) noexcept = default;

std::optional<RegexMatch> RegexMatcher::Find(std::string_view text, size_t from) {
  const Regex::Code& code = *regex_->code_;
  const int result = pcre2_match(code.code.get(), Bytes(text), text.size(), from,
                                 code.match_options, memory_->data.get(), memory_->context.get());
  if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (result < 0) {
    throw Error(ErrorCode::kInput, "the match was given up: " + InWords(result));
  }
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(memory_->data.get());
  return RegexMatch{ends[0], ends[1]};
}

}  // namespace detcheck
