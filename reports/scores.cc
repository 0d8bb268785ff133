#include "reports/scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "reports/divergence.h"
#include "reports/evidence.h"

namespace detcheck {
namespace {

// The tokens of one answer in a prompt that is scored, and where they begin in it.
struct ScoredAnswer {
  AnswerSlice slice;
  int offset = 0;
};

std::optional<ScoredAnswer> AnswerIn(const PlannedRequest& request) {
  int offset = 0;
  for (const PromptPart& part : request.prompt) {
    if (const auto* slice = std::get_if<AnswerSlice>(&part)) return ScoredAnswer{*slice, offset};
    const auto& of_prompt = std::get<PromptSlice>(part);
    offset += of_prompt.end - of_prompt.begin;
  }
  return std::nullopt;
}

// The record whose answer later prompts are made of: the first attempt that was not voided.
const StepRecord* Answered(const Transcript& transcript, int step) {
  for (const StepRecord& record : transcript.records) {
    if (record.step == step && !record.voided) return &record;
  }
  return nullptr;
}

std::string BitsOf(const std::vector<TokenLogprob>& scores) {
  std::string bytes;
  for (const TokenLogprob& score : scores) {
    bytes.append(reinterpret_cast<const char*>(&score.logprob), sizeof(score.logprob));
  }
  return bytes;
}

// Takes in one answer and all scores of it.
class ScoreJudge {
 public:
  ScoreJudge(const ScoredAnswer& scored, int prompt_len, RequestJudgement* request)
      : scored_(scored), prompt_len_(prompt_len), request_(request) {}

  void Run(const Transcript& transcript, const std::vector<const StepRecord*>& scores) {
    const StepRecord* answered = Answered(transcript, scored_.slice.step);
    const Completion* answer =
        answered != nullptr && scored_.slice.item < std::ssize(answered->completions)
            ? &answered->completions[scored_.slice.item]
            : nullptr;
    if (answer == nullptr) return Inconclusive("the answer to score is missing");
    if (scores.empty()) return Inconclusive("its tokens were not scored by prefill");
    if (answer->logprobs.empty() || answer->logprobs.size() != answer->token_ids.size()) {
      return Inconclusive("decoding told no logprobs to hold the prefill scores against");
    }
    const auto scored_len = static_cast<size_t>(scored_.slice.end - scored_.slice.begin);
    for (const StepRecord* record : scores) {
      if (record->scores.size() + 1 != static_cast<size_t>(prompt_len_)) {
        return Inconclusive(fmt::format("{} scores told for a prompt of {} tokens",
                                        record->scores.size(), prompt_len_));
      }
    }
    if (scored_.offset < 1 || scored_.slice.begin + scored_len > answer->logprobs.size()) {
      return Inconclusive("the answer is shorter than what was scored of it");
    }
    Compare(*answer, scores);
  }

 private:
  void Inconclusive(const std::string& reason) { Add(Verdict::kInconclusive, reason); }

  void Add(Verdict verdict, const std::string& reason) {
    request_->verdict = Worse(request_->verdict, verdict);
    request_->reasons.push_back(reason);
  }

  void Compare(const Completion& answer, const std::vector<const StepRecord*>& scores) {
    PrefillComparison& comparison = request_->prefill.emplace();
    comparison.num_positions = scored_.slice.end - scored_.slice.begin;
    std::set<std::string> distinct;
    for (const StepRecord* record : scores) distinct.insert(BitsOf(record->scores));
    comparison.num_scores = static_cast<int>(scores.size());
    comparison.unique_scores = static_cast<int>(distinct.size());
    HoldAgainst(answer, scores.front()->scores, &comparison);
    Judge(answer, scores.front()->scores, comparison);
  }

  double Decoded(const Completion& answer, int i) const {
    return answer.logprobs[scored_.slice.begin + i].logprob;
  }

  double Scored(const std::vector<TokenLogprob>& scores, int i) const {
    return scores[scored_.offset + i - 1].logprob;
  }

  void HoldAgainst(const Completion& answer, const std::vector<TokenLogprob>& scores,
                   PrefillComparison* comparison) const {
    double sum_k3 = 0.0;
    for (int i = 0; i < comparison->num_positions; ++i) {
      const double decoded = Decoded(answer, i);
      const double scored = Scored(scores, i);
      if (!SameBits(decoded, scored)) {
        ++comparison->num_different;
        if (!comparison->index) comparison->index = scored_.slice.begin + i;
      }
      const double log_ratio = scored - decoded;
      sum_k3 += std::expm1(log_ratio) - log_ratio;
      if (std::isfinite(log_ratio)) {
        comparison->max_logprob_difference =
            std::max(comparison->max_logprob_difference, std::fabs(log_ratio));
      }
    }
    if (comparison->index) {
      comparison->absolute_position = scored_.offset + *comparison->index - scored_.slice.begin;
    }
    if (std::isfinite(sum_k3) && comparison->num_positions > 0) {
      comparison->mean_k3 = sum_k3 / comparison->num_positions;
    }
  }

  void Judge(const Completion& answer, const std::vector<TokenLogprob>& scores,
             const PrefillComparison& comparison) {
    if (comparison.unique_scores > 1) {
      request_->cause = Cause::kNotRepeatable;
      return Add(Verdict::kFail,
                 fmt::format("prefill is not repeatable (not_repeatable, run_to_run): {} unique "
                             "traces in {} scores of the same tokens; no conclusion about decode "
                             "against prefill is drawn",
                             comparison.unique_scores, comparison.num_scores));
    }
    if (!comparison.index) return;
    if (request_->cause == Cause::kNone) request_->cause = Cause::kNumeric;
    const int first = *comparison.index - scored_.slice.begin;
    Add(Verdict::kFail,
        fmt::format(
            "decode and prefill give different logprobs (prefill_vs_decode) at {} of {} tokens, "
            "first at output position {} (absolute {}): token {}, {:.17g} decoded, {:.17g} by "
            "prefill; largest difference {:.6g}",
            comparison.num_different, comparison.num_positions, *comparison.index,
            *comparison.absolute_position, answer.token_ids[*comparison.index],
            Decoded(answer, first), Scored(scores, first), comparison.max_logprob_difference));
  }

  const ScoredAnswer& scored_;
  const int prompt_len_;
  RequestJudgement* request_;
};

// Attempts at the mode's score steps that count, by the request whose prompt is scored.
std::map<int, std::vector<const StepRecord*>> GatherScores(const Plan& plan,
                                                           const Transcript& transcript,
                                                           Mode mode) {
  std::map<int, std::vector<const StepRecord*>> by_request;
  for (const Step& step : plan.steps) {
    if (step.mode == mode && step.kind == StepKind::kScore) by_request[step.score_request];
  }
  for (const StepRecord& record : transcript.records) {
    if (record.step < 0 || record.step >= std::ssize(plan.steps)) continue;
    const Step& step = plan.steps[record.step];
    if (step.mode == mode && step.kind == StepKind::kScore && Counts(step, record)) {
      by_request[step.score_request].push_back(&record);
    }
  }
  return by_request;
}

}  // namespace

void CompareScores(const Plan& plan, const Transcript& transcript, Mode mode,
                   std::vector<RequestJudgement>* requests) {
  for (const auto& [request, scores] : GatherScores(plan, transcript, mode)) {
    const std::optional<ScoredAnswer> scored = AnswerIn(plan.requests[request]);
    if (!scored) continue;
    const Step& step = plan.steps[scored->slice.step];
    if (scored->slice.item >= std::ssize(step.items)) continue;
    const int subject = step.items[scored->slice.item].request;
    const auto found =
        std::find_if(requests->begin(), requests->end(),
                     [&](const RequestJudgement& one) { return one.request == subject; });
    if (found == requests->end()) continue;
    if (plan.criterion.kind != CriterionKind::kBitwise) {
      found->verdict = Worse(found->verdict, Verdict::kUnsupported);
      found->reasons.push_back("the criterion says nothing of logprobs, and prefill gives no more");
      continue;
    }
    ScoreJudge(*scored, PromptLen(plan.requests[request]), &*found).Run(transcript, scores);
  }
}

}  // namespace detcheck
