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

// Prompt length, cached tokens, batch size.
using Conditions = std::tuple<int, int, int>;

struct TimedAnswer {
  int request = 0;
  Mode mode = Mode::kSingle;
  Conditions conditions;
  double seconds_per_token = 0.0;  // after the first
  bool is_unseen = false;
  bool warms_up = false;
};

std::optional<double> SecondsPerToken(const Completion& answer) {
  const double seconds = answer.times.last_token - answer.times.first_token;
  if (answer.token_ids.size() < 2 || answer.times.first_token <= 0.0 || seconds < 0.0) {
    return std::nullopt;
  }
  return seconds / static_cast<double>(answer.token_ids.size() - 1);
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
      const std::optional<double> seconds = SecondsPerToken(answer);
      if (!seconds) continue;
      const int size = answer.witness.formed_size.value_or(static_cast<int>(step.items.size()));
      answers.push_back(
          {request,
           step.mode,
           {PromptLen(plan.requests[request]), answer.witness.cached_tokens.value_or(0), size},
           *seconds,
           seen_requests.insert(request).second,
           warms_up});
    }
  }
  return answers;
}

// Whether each repeat took less than its share of the least unseen time; absent where there are too
// few to tell.
std::optional<bool> IsSuspect(const std::vector<TimedAnswer>& answers, Mode mode, int request,
                              const std::map<Conditions, double>& unseen) {
  int num_repeats = 0;
  bool all_fast = true;
  for (const TimedAnswer& answer : answers) {
    if (answer.mode != mode || answer.request != request || answer.is_unseen) continue;
    const auto least = unseen.find(answer.conditions);
    if (least == unseen.end()) continue;
    ++num_repeats;
    all_fast = all_fast && answer.seconds_per_token < kSuspectShare * least->second;
  }
  return num_repeats >= kMinRepeats ? std::optional(all_fast) : std::nullopt;
}

}  // namespace

void CheckResponseCache(const Plan& plan, const Transcript& transcript, ModeJudgement* judgement) {
  const std::vector<TimedAnswer> answers = TimedAnswers(plan, transcript);
  std::map<Conditions, double> unseen;
  for (const TimedAnswer& answer : answers) {
    if (!answer.is_unseen || answer.warms_up) continue;
    const auto [it, is_new] = unseen.try_emplace(answer.conditions, answer.seconds_per_token);
    if (!is_new) it->second = std::min(it->second, answer.seconds_per_token);
  }
  std::vector<RequestJudgement*> suspects;
  size_t num_told = 0;
  for (RequestJudgement& request : judgement->requests) {
    const auto suspect = IsSuspect(answers, judgement->mode, request.request, unseen);
    if (suspect) ++num_told;
    if (suspect.value_or(false)) suspects.push_back(&request);
  }
  if (2 * suspects.size() <= num_told) return;
  for (RequestJudgement* request : suspects) {
    request->verdict = Worse(request->verdict, Verdict::kInconclusive);
    request->reasons.push_back(
        "repeats took less than a fifth of the time per token of unseen requests: a cache of whole "
        "answers is suspected");
  }
}

}  // namespace detcheck
