#include "reports/response_cache.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace detcheck {
namespace {

constexpr double kSuspectShare = 0.2;
constexpr int kMinRepeats = 3;
constexpr int kMinTokens = 8;

// Prompt length, cached tokens, batch size.
using Conditions = std::tuple<int, int, int>;

struct TimedAnswer {
  int request = 0;
  Mode mode = Mode::kSingle;
  Conditions conditions;
  double seconds_per_token = 0.0;  // after the first
  bool is_unseen = false;
  bool is_salted = false;
  bool warms_up = false;
};

std::optional<double> SecondsPerToken(const Completion& answer) {
  const double seconds = answer.times.last_token - answer.times.first_token;
  const int num_tokens = NumTokens(answer);
  if (num_tokens < kMinTokens || answer.times.first_token <= 0.0 || seconds < 0.0) {
    return std::nullopt;
  }
  return seconds / (num_tokens - 1);
}

std::vector<TimedAnswer> TimedAnswers(const Plan& plan, const Transcript& transcript) {
  std::vector<TimedAnswer> answers;
  std::set<int> seen_requests;
  std::set<int> seen_launches;
  for (const StepRecord& record : transcript.records) {
    if (record.step < 0 || record.step >= std::ssize(plan.steps)) continue;
    if (record.completions.empty()) continue;
    const bool warms_up = seen_launches.insert(record.launch).second;
    const Step& step = plan.steps[record.step];
    const size_t num_items = std::min(step.items.size(), record.completions.size());
    for (size_t i = 0; i < num_items; ++i) {
      const Completion& answer = record.completions[i];
      const int request = step.items[i].request;
      const bool is_unseen = seen_requests.insert(request).second;
      const std::optional<double> seconds = SecondsPerToken(answer);
      if (!seconds) continue;
      const int size = answer.witness.formed_size.value_or(static_cast<int>(step.items.size()));
      const Conditions conditions = {PromptLen(plan.requests[request]),
                                     answer.witness.cached_tokens.value_or(0), size};
      answers.push_back({request, step.mode, conditions, *seconds, is_unseen,
                         step.arm == Arm::kSalted, warms_up});
    }
  }
  return answers;
}

// What answers to unseen prompts took.
struct Unseen {
  double least = 0.0;  // seconds per token
  bool has_salted = false;
};

std::map<Conditions, Unseen> UnseenOf(const std::vector<TimedAnswer>& answers) {
  std::map<Conditions, Unseen> unseen;
  for (const TimedAnswer& answer : answers) {
    if (!answer.is_unseen || answer.warms_up) continue;
    Unseen& of_conditions =
        unseen.try_emplace(answer.conditions, Unseen{answer.seconds_per_token}).first->second;
    of_conditions.least = std::min(of_conditions.least, answer.seconds_per_token);
    of_conditions.has_salted = of_conditions.has_salted || answer.is_salted;
  }
  return unseen;
}

enum class Finding { kCannotTell, kHonest, kSuspected, kConfirmed };

Finding FindingOf(const std::vector<TimedAnswer>& answers, Mode mode, int request,
                  const std::map<Conditions, Unseen>& unseen) {
  int num_repeats = 0;
  int num_against_salted = 0;
  for (const TimedAnswer& answer : answers) {
    if (answer.mode != mode || answer.request != request || answer.is_unseen) continue;
    const auto it = unseen.find(answer.conditions);
    if (it == unseen.end()) continue;
    if (answer.seconds_per_token >= kSuspectShare * it->second.least) return Finding::kHonest;
    ++num_repeats;
    if (it->second.has_salted) ++num_against_salted;
  }
  if (num_repeats < kMinRepeats) return Finding::kCannotTell;
  return num_against_salted >= kMinRepeats ? Finding::kConfirmed : Finding::kSuspected;
}

void MakeInconclusive(const char* why, RequestJudgement* request) {
  request->verdict = Worse(request->verdict, Verdict::kInconclusive);
  request->reasons.emplace_back(why);
}

const char* WhyNotChecked(const std::vector<TimedAnswer>& answers, Mode mode) {
  const bool has_times =
      std::any_of(answers.begin(), answers.end(),
                  [&](const TimedAnswer& answer) { return answer.mode == mode; });
  return has_times
             ? "whether a cache of whole answers was at work is not checked: no unseen answer "
               "under the same conditions to hold repeats against"
             : "whether a cache of whole answers was at work is not checked: the target gives "
               "no times, or its answers are too short to be timed";
}

}  // namespace

void CheckResponseCache(const Plan& plan, const Transcript& transcript, ModeJudgement* judgement) {
  const std::vector<TimedAnswer> answers = TimedAnswers(plan, transcript);
  const std::map<Conditions, Unseen> unseen = UnseenOf(answers);
  bool can_tell = false;
  for (RequestJudgement& request : judgement->requests) {
    const Finding finding = FindingOf(answers, judgement->mode, request.request, unseen);
    can_tell = can_tell || finding != Finding::kCannotTell;
    if (finding == Finding::kConfirmed) {
      MakeInconclusive(
          "repeats took less than a fifth of the time per token of a salted copy: they came out of "
          "a cache of whole answers",
          &request);
    } else if (finding == Finding::kSuspected) {
      MakeInconclusive(
          "repeats took less than a fifth of the time per token of an unseen request: a cache of "
          "whole answers is suspected; no salted copy was timed to confirm it",
          &request);
    }
  }
  if (!can_tell && !judgement->requests.empty()) {
    judgement->notes.emplace_back(WhyNotChecked(answers, judgement->mode));
  }
}

}  // namespace detcheck
