#include "reports/scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "fixtures/shard.h"
#include "reports/evidence.h"
#include "reports/report.h"
#include "reports/samples.h"

namespace detcheck {
namespace {

/// Distinct settings of fixtures that are named; more are counted.
constexpr size_t kMaxNamedSettings = 8;

// Fields of the subject's manifest that name what was tested, and beside them all of the device.
constexpr std::array<std::string_view, 11> kIdentityFields = {
    "engine.name",          "engine.version",    "engine.commit",
    "engine.mode",          "model.name",        "model.id",
    "model.revision",       "model.dtype",       "model.quantization",
    "model.weights_sha256", "model.weights_seed"};

bool IsIdentity(std::string_view name) {
  if (name.starts_with("device.")) return true;
  return std::find(kIdentityFields.begin(), kIdentityFields.end(), name) != kIdentityFields.end();
}

std::string SamplingInWords(const Sampling& sampling) {
  if (sampling.temperature == 0.0) return "greedy (temperature 0)";
  return fmt::format("temperature {}, top_p {}, top_k {}, min_p {}", sampling.temperature,
                     sampling.top_p, sampling.top_k, sampling.min_p);
}

std::string LimitInWords(const PlannedRequest& request) {
  return fmt::format("{}{}", request.max_new_tokens,
                     request.ignore_eos ? "" : " or up to the end of sequence");
}

std::set<int> SubjectsOf(const Plan& plan) {
  std::set<int> subjects;
  for (const int step_idx : StepsToRun(plan)) {
    const Step& step = plan.steps[step_idx];
    if (step.arm == Arm::kPrepare) continue;
    for (const PlannedItem& item : step.items) {
      if (item.subject) subjects.insert(item.request);
    }
  }
  return subjects;
}

// The distinct values of one property of all fixtures.
template <typename InWords>
std::string OfAllFixtures(const Plan& plan, const InWords& in_words) {
  std::set<std::string> distinct;
  for (const int subject : SubjectsOf(plan)) distinct.insert(in_words(plan.requests[subject]));
  if (distinct.size() > kMaxNamedSettings) return fmt::format("{} settings", distinct.size());
  return fmt::format("{}", fmt::join(distinct, "; "));
}

// Where requests are compared by text: of how many that is so.
std::vector<ScopeFact> TokenIdentityOf(const Judgement& judgement) {
  int num_requests = 0;
  int num_by_text = 0;
  for (const ModeJudgement& mode : judgement.modes) {
    for (const RequestJudgement& request : mode.requests) {
      ++num_requests;
      num_by_text += request.identity == TokenIdentity::kText ? 1 : 0;
    }
  }
  if (num_by_text == 0) return {};
  return {{"token_identity", num_by_text == num_requests
                                 ? std::string("text")
                                 : fmt::format("text of {} of {} requests, token IDs of the others",
                                               num_by_text, num_requests)}};
}

std::vector<ScopeFact> Held(const Plan& plan, const Transcript& transcript,
                            const Judgement& judgement, const TargetFacts& facts) {
  const auto size = [](const std::optional<int>& value) {
    return value ? fmt::format("{}", *value) : std::string("not known");
  };
  std::vector<ScopeFact> held = {
      {"criterion", ToString(plan.criterion)},
      {"fixtures", fmt::format("{}", SubjectsOf(plan).size())},
      {"sampling of fixtures",
       OfAllFixtures(plan, [](const auto& r) { return SamplingInWords(r.sampling); })},
      {"new tokens of fixtures", OfAllFixtures(plan, LimitInWords)},
      {"starts of the target", fmt::format("{}", NumLaunches(transcript))},
      {"page size, tokens", size(facts.page_size)},
      {"prefill chunk, tokens", size(facts.chunk_size)},
      {"most running requests", size(facts.max_running_requests)},
      {"KV pool, tokens", size(facts.kv_pool_tokens)}};
  for (ScopeFact& fact : TokenIdentityOf(judgement)) held.push_back(std::move(fact));
  return held;
}

std::vector<ScopeFact> HoldsFor(const Manifest& subject) {
  std::vector<ScopeFact> facts;
  for (const ManifestField& field : subject) {
    if (field.value.empty() || !IsIdentity(field.name)) continue;
    const bool is_seen = field.source == FieldSource::kObserved;
    const char* source = field.source == FieldSource::kClaimed ? " (claimed)" : " (declared)";
    facts.push_back({field.name, field.value + (is_seen ? "" : source)});
  }
  return facts;
}

int NumSteps(const Plan& plan, Mode mode) {
  const std::vector<int> steps = StepsToRun(plan);
  return static_cast<int>(std::count_if(steps.begin(), steps.end(),
                                        [&](int step) { return plan.steps[step].mode == mode; }));
}

std::vector<std::string> NotTested(const Plan& plan, const Transcript& transcript) {
  std::vector<std::string> not_tested = plan.not_tested;
  std::vector<std::string> not_asked;
  for (const Mode mode : {Mode::kSingle, Mode::kBatch, Mode::kMixed, Mode::kPrefix,
                          Mode::kRadixCache, Mode::kPvsD, Mode::kSeeds, Mode::kHistory}) {
    const auto unplanned =
        std::find_if(plan.unplanned.begin(), plan.unplanned.end(),
                     [&](const Plan::Unplanned& one) { return one.mode == mode; });
    if (unplanned != plan.unplanned.end()) {
      not_tested.push_back(fmt::format("{}: {}", ToString(mode), unplanned->reason));
    } else if (std::find(plan.modes.begin(), plan.modes.end(), mode) == plan.modes.end()) {
      not_asked.push_back(ToString(mode));
    } else if (const size_t num = CheckCells(plan, transcript, mode).size(); num > 0) {
      not_tested.push_back(fmt::format("{}: {} of {} steps never counted", ToString(mode), num,
                                       NumSteps(plan, mode)));
    }
  }
  if (!not_asked.empty()) {
    not_tested.push_back(fmt::format("modes not asked for: {}", fmt::join(not_asked, ", ")));
  }
  if (plan.shard) {
    not_tested.push_back(fmt::format(
        "the other shards: {} of {} steps of the plan are in shard {} of {}",
        plan.shard->steps.size(), plan.steps.size(), plan.shard->index, plan.shard->count));
  }
  not_tested.push_back("other engines, models, settings, devices and machines");
  return not_tested;
}

std::string WhyNotCounted(const Step& step, const StepRecord& record) {
  if (record.error) return "failed: " + *record.error;
  if (record.voided) return "voided: " + *record.voided;
  for (const Completion& completion : record.completions) {
    if (!completion.error.empty()) return "failed: " + completion.error;
  }
  return MissedEvidence(step, record).value_or("");
}

std::vector<VoidedAttempt> VoidedOf(const Plan& plan, const Transcript& transcript) {
  std::vector<VoidedAttempt> voided;
  for (const StepRecord& record : transcript.records) {
    if (record.step < 0 || record.step >= std::ssize(plan.steps)) continue;
    std::string why = WhyNotCounted(plan.steps[record.step], record);
    if (why.empty()) continue;
    if (record.replica > 0) why = NameOfReplica(record.replica) + ": " + why;
    voided.push_back({record.step, record.attempt, std::move(why)});
  }
  return voided;
}

std::vector<std::string> NotesOf(const Judgement& judgement) {
  std::vector<std::string> notes;
  for (const ModeJudgement& mode : judgement.modes) {
    for (const std::string& note : mode.notes) {
      notes.push_back(fmt::format("{}: {}", NameOfMode(mode), note));
    }
  }
  notes.insert(notes.end(), judgement.notes.begin(), judgement.notes.end());
  return notes;
}

}  // namespace

Scope ScopeOf(const Plan& plan, const Transcript& transcript, const Judgement& judgement,
              const TargetFacts& facts, const Manifest& subject) {
  return {ScopeWordsOf(plan, transcript, judgement.modes),
          Held(plan, transcript, judgement, facts),
          HoldsFor(subject),
          NotTested(plan, transcript),
          VoidedOf(plan, transcript),
          NotesOf(judgement)};
}

void JudgeReport(Report* report) {
  report->judgement =
      report->replicas.empty()
          ? Judge(report->plan, report->transcript, report->subject, report->texts)
          : JudgeReplicas(report->plan, report->replicas, report->texts, &report->transcript);
  report->scope =
      ScopeOf(report->plan, report->transcript, report->judgement, report->facts, report->subject);
  if (!report->replicas.empty()) {
    report->scope.held.push_back({"replicas", fmt::format("{}", report->replicas.size())});
  }
  if (!report->protocol) return;
  report->scope.held.push_back({"protocol", fmt::format("{} ({:.12}…)", report->protocol->name,
                                                        ProtocolDigest(*report->protocol))});
}

}  // namespace detcheck
