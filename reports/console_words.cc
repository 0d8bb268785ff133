#include "reports/console_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "fixtures/file_io.h"
#include "reports/json_text.h"

namespace detcheck {
namespace {

constexpr char kSameOnEveryReplica[] = "A request gets the same answer on every replica.";

}  // namespace

std::string Paint::In(const char* code, std::string_view text) const {
  return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string Paint::Of(Verdict verdict, size_t width) const {
  std::string word = ToString(verdict);
  const std::string padding(word.size() < width ? width - word.size() : 0, ' ');
  switch (verdict) {
    case Verdict::kPass:
      return In("32", word) + padding;
    case Verdict::kFail:
      return In("1;31", "FAIL") + padding;
    case Verdict::kError:
      return In("1;35", "ERROR") + padding;
    case Verdict::kInconclusive:
    case Verdict::kUnsupported:
      break;
  }
  return In("33", word) + padding;
}

std::string Printable(std::string_view text) {
  std::string line = ToUtf8(OneLine(text));
  // C1 control characters are two bytes in UTF-8; a terminal may obey them.
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    const auto next = static_cast<unsigned char>(line[i + 1]);
    if (line[i] == '\xC2' && next < 0xA0) line.replace(i, 2, "?");
  }
  return line;
}

std::string RequirementOf(Mode mode, const RequestJudgement& request) {
  if (request.condition_kind == ConditionKind::kReplica) return kSameOnEveryReplica;
  if (request.cause == Cause::kInput) return "Samples of one request have the same prompt.";
  if (request.cause == Cause::kNotRepeatable || request.cause == Cause::kFirstRunOnly) {
    return "The same request alone gets the same answer every time.";
  }
  if (request.verdict == Verdict::kFail && request.cause == Cause::kNone) {
    return "Every text of a request meets the criterion.";
  }
  switch (mode) {
    case Mode::kSingle:
      return "The same prompt gets the same answer in batches of every size.";
    case Mode::kBatch:
      return "A request gets the same answer whatever else is in its batch.";
    case Mode::kMixed:
      return "A request gets the same answer while other prompts arrive and decode.";
    case Mode::kPrefix:
      return "Prompts that share a prefix get the same answers with and without sharing.";
    case Mode::kRadixCache:
      return "A request gets the same answer cold, warm and partly warm.";
    case Mode::kPvsD:
      return "Decoding gives the logprobs that prefill gives.";
    case Mode::kSeeds:
      return request.divergences.empty()
                 ? "Different seeds give different answers."
                 : "The same seed gives the same answer, whatever runs beside it.";
    case Mode::kHistory:
      return "A request gets the same answer whatever ran before it.";
  }
  return "";
}

std::string RequirementOf(const ModeJudgement& mode) {
  return mode.across_replicas ? kSameOnEveryReplica : RequirementOf(mode.mode, RequestJudgement{});
}

std::string WhereItRan(const Report& report, const SampleRef& ref) {
  const StepRecord& record = report.transcript.records[ref.record];
  const Step& step = report.plan.steps[record.step];
  const Witness& witness = record.completions[ref.item].witness;
  std::string where;
  if (step.items.size() == 1) {
    where = "alone";
  } else if (witness.formed_size) {
    where = fmt::format("batch of {}, item {}", *witness.formed_size, ref.item);
  } else {
    where = fmt::format("batch of {} asked for, item {}", step.items.size(), ref.item);
  }
  if (witness.cached_tokens.value_or(0) > 0) {
    where += fmt::format(", {} cached tokens", *witness.cached_tokens);
  } else if (step.cache == CacheState::kCold) {
    where += ", cold";
  }
  if (witness.same_step_prefill_tokens.value_or(0) > 0) {
    where += ", beside " +
             Several(static_cast<size_t>(*witness.same_step_prefill_tokens), "prefill token");
  }
  where += fmt::format(" (step {} '{}'", record.step, Printable(step.label));
  if (!report.replicas.empty()) where += ", " + NameOfReplica(record.replica);
  if (record.attempt > 0) where += fmt::format(", attempt {}", record.attempt + 1);
  if (record.voided) where += ", voided";
  return where + ")";
}

std::string CountsOf(const RequestJudgement& request) {
  std::string counts = fmt::format("Total samples: {}, Unique samples: {}", request.total_samples,
                                   request.unique_samples);
  if (request.traced_samples > 0) {
    counts += fmt::format(", Unique logprob traces: {}", request.unique_traces);
  }
  if (request.identity == TokenIdentity::kText) counts += ", compared by text";
  if (request.validity) {
    const ValidityCounts& validity = *request.validity;
    counts += fmt::format(", Valid texts: {} of {}", validity.num_valid,
                          validity.num_valid + validity.num_invalid + validity.num_unknown);
  }
  return counts;
}

std::string Several(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace detcheck
