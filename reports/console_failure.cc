#include "reports/console_failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reports/attribution.h"
#include "reports/console_words.h"

namespace detcheck {
namespace {

constexpr size_t kMaxExcerptBytes = 32;

std::string Line(std::string_view name, const std::string& text) {
  return fmt::format("    {:<12} {}\n", fmt::format("{}:", name), text);
}

// The divergence that is shown: the earliest that breaks the criterion.
const Divergence* Shown(const RequestJudgement& request) {
  if (request.earliest && request.earliest->breaks_criterion) return &*request.earliest;
  for (const Divergence& divergence : request.divergences) {
    if (divergence.breaks_criterion) return &divergence;
  }
  return nullptr;
}

const Completion& AnswerOf(const Report& report, const SampleRef& ref) {
  return report.transcript.records[ref.record].completions[ref.item];
}

bool IsCharacterStart(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

// A piece of `text` from the character at or before `begin`.
std::string Excerpt(const std::string& text, size_t begin) {
  begin = std::min(begin, text.size());
  while (begin > 0 && begin < text.size() && !IsCharacterStart(text[begin])) --begin;
  size_t end = std::min(text.size(), begin + kMaxExcerptBytes);
  while (end > begin && end < text.size() && !IsCharacterStart(text[end])) --end;
  return fmt::format("{}\"{}\"{}", begin > 0 ? "…" : "", Printable(text.substr(begin, end - begin)),
                     end < text.size() ? "…" : "");
}

// Where the two texts part, for people; empty where there are none or they are equal.
std::pair<std::string, std::string> TextsAtDivergence(const Completion& expected,
                                                      const Completion& actual) {
  if (!expected.text || !actual.text || *expected.text == *actual.text) return {};
  const auto at = std::mismatch(expected.text->begin(), expected.text->end(), actual.text->begin(),
                                actual.text->end());
  const auto common = static_cast<size_t>(at.first - expected.text->begin());
  return {Excerpt(*expected.text, common), Excerpt(*actual.text, common)};
}

std::string NoMore(const char* what, const Completion& answer) {
  return fmt::format("no more {} ({})", what,
                     answer.finish_reason == FinishReason::kStop ? "stop" : "length");
}

std::string TokenInWords(const std::optional<TokenId>& token, const Completion& answer) {
  return token ? fmt::format("token {}", *token) : NoMore("tokens", answer);
}

std::string TextInWords(int offset, const Completion& answer) {
  return offset < std::ssize(answer.text.value_or("")) ? "text" : NoMore("text", answer);
}

// "token 4, logprob -0.5", with every digit that tells doubles apart.
std::string LogprobInWords(const Completion& answer, int index) {
  const double logprob = answer.logprobs[index].logprob;
  const std::string token = answer.token_bytes.empty()
                                ? fmt::format("{}", answer.token_ids[index])
                                : '"' + Printable(answer.token_bytes[index]) + '"';
  return fmt::format("token {}, logprob {:.17g}", token, logprob);
}

std::string SidesInWords(const Report& report, const Divergence& divergence) {
  const Completion& expected = AnswerOf(report, divergence.expected);
  const Completion& actual = AnswerOf(report, divergence.actual);
  const auto [expected_text, actual_text] = TextsAtDivergence(expected, actual);
  std::string said;
  std::string heard;
  std::string place;
  if (divergence.text_offset) {
    place = fmt::format(" at byte {} of the text", *divergence.text_offset);
    said = TextInWords(*divergence.text_offset, expected);
    heard = TextInWords(*divergence.text_offset, actual);
  } else if (divergence.index) {
    place = fmt::format(" at output position {} (absolute {})", *divergence.index,
                        divergence.absolute_position.value_or(0));
    said = TokenInWords(divergence.expected_token, expected);
    heard = TokenInWords(divergence.actual_token, actual);
  } else if (divergence.first_logprob_index) {
    place = fmt::format(" at output position {}", *divergence.first_logprob_index);
    said = LogprobInWords(expected, *divergence.first_logprob_index);
    heard = LogprobInWords(actual, *divergence.first_logprob_index);
  } else {
    said = "text";
    heard = "text";
  }
  const auto side = [&](std::string what, const std::string& text, const SampleRef& ref) {
    if (!text.empty()) what += " " + text;
    return fmt::format("{}{}; {}", what, place, WhereItRan(report, ref));
  };
  return Line("Expected", side(said, expected_text, divergence.expected)) +
         Line("Actual", side(heard, actual_text, divergence.actual));
}

std::string SizesInWords(const Divergence& divergence) {
  std::string words;
  if (divergence.gap) {
    words = fmt::format("{:.6g} nats between the two best candidates", *divergence.gap);
    if (divergence.near_tie) words += fmt::format(" ({})", ToString(*divergence.near_tie));
  }
  if (divergence.max_logprob_difference) {
    words += fmt::format("{}largest logprob difference {:.6g}", words.empty() ? "" : "; ",
                         *divergence.max_logprob_difference);
  }
  if (divergence.first_logprob_index && (divergence.index || divergence.text_offset)) {
    words += fmt::format("{}first at output position {}", words.empty() ? "logprobs differ " : ", ",
                         *divergence.first_logprob_index);
  }
  if (divergence.suspected_state) {
    words += "; more than 1 nat where they first differ (suspected_state): rarely rounding";
  }
  return words;
}

std::string NextCommand(const Plan& plan, const RequestJudgement& request) {
  const PlannedRequest& planned = plan.requests[request.request];
  const auto* slice =
      planned.prompt.size() == 1 ? std::get_if<PromptSlice>(&planned.prompt.front()) : nullptr;
  // Only what is a fixture as a whole can be asked for by name.
  const bool is_fixture =
      request.subject && slice != nullptr && plan.prompts[slice->prompt].source == planned.id;
  return fmt::format("detcheck {}{}, with the other options of this run", ToString(request.mode),
                     is_fixture ? " --fixture " + Printable(planned.id) : "");
}

}  // namespace

std::string RenderFailure(const Report& report, const RequestJudgement& request) {
  std::string text = Line("Requirement", RequirementOf(request.mode, request));
  const Divergence* divergence = Shown(request);
  if (divergence != nullptr) {
    text += SidesInWords(report, *divergence);
    const std::string sizes = SizesInWords(*divergence);
    if (!sizes.empty()) text += Line("Gap", sizes);
  }
  // Seeds that do not tell answers apart: sampling is at fault, and no two samples differ.
  const bool is_alike = request.cause == Cause::kSampling && request.divergences.empty();
  const std::string cause =
      ToString(request.cause) + (is_alike ? "" : ": " + CauseInWords(request.cause));
  if (request.cause != Cause::kNone) text += Line("Cause", cause);
  if (!request.condition.empty()) text += Line("When", Printable(request.condition));
  for (const std::string& reason : request.reasons) {
    if (reason != cause) text += Line("Found", Printable(reason));
  }
  text += Line("Next", NextCommand(report.plan, request));
  return text;
}

std::string SummaryOfFailure(const RequestJudgement& request) {
  std::string text;
  if (const Divergence* divergence = Shown(request)) {
    const auto& position = divergence->index ? divergence->index : divergence->first_logprob_index;
    if (divergence->text_offset) {
      text = fmt::format("first divergence at byte {} of the text ", *divergence->text_offset);
    } else if (position)
      text = fmt::format("first divergence at output position {} ", *position);
  }
  if (request.cause == Cause::kNone) return "(all texts invalid alike)";
  text += fmt::format("({}", ToString(request.cause));
  if (!request.condition.empty()) text += "; " + Printable(request.condition);
  return text + ")";
}

}  // namespace detcheck
