// What was tested of each scope word.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "fixtures/shard.h"
#include "reports/composition.h"
#include "reports/condition.h"
#include "reports/evidence.h"
#include "reports/samples.h"
#include "reports/scope.h"

namespace detcheck {
namespace {

constexpr BoundUnit kRepeats = {"repeats", "repeat", "repeats"};
constexpr BoundUnit kScoredAnswers = {"answers", "scored answer", "scored answers"};
constexpr BoundUnit kReplicas = {"replicas", "other replica", "other replicas"};
constexpr BoundUnit kStarts = {"starts", "other start", "other starts"};

// A scope word: the modes that test it, the axis that is always told, and what its n counts.
struct WordRule {
  ScopeWord word;
  std::vector<Mode> modes;
  const char* axis;
  BoundUnit unit;
};

const std::vector<WordRule>& Rules() {
  static const std::vector<WordRule> kRules = {
      {ScopeWord::kRunToRun,
       {Mode::kSingle, Mode::kBatch, Mode::kMixed, Mode::kPrefix, Mode::kRadixCache, Mode::kPvsD,
        Mode::kSeeds, Mode::kHistory},
       "control_samples",
       kRepeats},
      {ScopeWord::kBatch,
       {Mode::kSingle, Mode::kBatch, Mode::kPrefix, Mode::kSeeds},
       "formed_size",
       {}},
      {ScopeWord::kArrival, {Mode::kMixed}, "neighbour_prefill", {}},
      {ScopeWord::kPrefixCache, {Mode::kRadixCache, Mode::kPrefix}, "cached_tokens", {}},
      {ScopeWord::kPrefillVsDecode, {Mode::kPvsD}, "positions", kScoredAnswers},
      {ScopeWord::kSampling, {Mode::kSeeds}, "seed", {}},
      {ScopeWord::kHistory, {Mode::kHistory}, "history", {}},
      {ScopeWord::kRestart, {Mode::kHistory}, "launch", kStarts},
      {ScopeWord::kReplica, {}, "replica", kReplicas},
      {ScopeWord::kGpuToGpu, {}, "", {}},
  };
  return kRules;
}

const WordRule& RuleOf(ScopeWord word) {
  return *std::find_if(Rules().begin(), Rules().end(),
                       [&](const WordRule& rule) { return rule.word == word; });
}

// What counts for one word, by number: batches, requests or starts.
struct Tally {
  std::set<int> counted;
  int n = 0;  // Where it is not the size of `counted`.
  std::set<Mode> modes;
  std::map<std::string, std::map<int64_t, std::set<int>>> varied;

  int N() const { return n > 0 ? n : static_cast<int>(counted.size()); }
};

bool HasArrivals(const Step& step) {
  return std::any_of(step.items.begin(), step.items.end(), [](const PlannedItem& item) {
    return item.release.kind != Release::Kind::kAtOnce;
  });
}

bool IsAfterTraffic(const Step& step) {
  return std::any_of(step.axes.begin(), step.axes.end(),
                     [](const Axis& axis) { return axis.name == "history"; });
}

// Goes through the samples that count of every subject and files each under the words that it
// speaks for.
class WordTallies {
 public:
  WordTallies(const Plan& plan, const Transcript& transcript,
              const std::vector<ModeJudgement>& modes)
      : plan_(plan), transcript_(transcript), batch_of_record_(transcript.records.size(), -1) {
    for (const Mode mode : plan.modes) {
      for (const RequestSamples& samples : CollectSamples(plan, transcript, mode)) {
        AddRequest(mode, samples);
      }
    }
    for (const ModeJudgement& mode : modes) {
      AddScores(mode);
      if (mode.across_replicas) AddReplicas(mode);
    }
  }

  const Tally& Of(ScopeWord word) { return tallies_[word]; }

 private:
  void AddRequest(Mode mode, const RequestSamples& samples) {
    std::vector<const Sample*> counted;
    for (const Sample& sample : samples.samples) {
      if (sample.counts && sample.item->subject) counted.push_back(&sample);
    }
    if (counted.size() < 2) return;   // Nothing to compare it with.
    std::map<int, int> first_launch;  // By replica.
    for (const Sample* sample : counted) {
      first_launch.try_emplace(sample->record->replica, sample->record->launch);
    }
    const Sampling& sampling = plan_.requests[samples.request].sampling;
    std::map<std::pair<int, int>, int> num_control;  // By replica and launch.
    for (const Sample* sample : counted) {
      const bool is_restarted = sample->record->launch != first_launch[sample->record->replica];
      if (is_restarted) Add(ScopeWord::kRestart, mode, *sample);
      if (sampling.temperature > 0.0) {
        Add(ScopeWord::kSampling, mode, *sample);
        Note(ScopeWord::kSampling, "seed", static_cast<int64_t>(sampling.seed), BatchOf(*sample));
      }
      if (sample->IsControl() && sample->IsSolo() && !sample->ReadCache()) {
        ++num_control[{sample->record->replica, sample->record->launch}];
      } else if (!is_restarted || !IsAfterTraffic(*sample->step)) {
        AddVaried(mode, *sample);
      }
    }
    for (const auto& [launch, num] : num_control) AddRepeats(mode, samples.request, num);
  }

  void AddRepeats(Mode mode, int request, int num_samples) {
    if (num_samples < 2) return;
    Tally& tally = tallies_[ScopeWord::kRunToRun];
    tally.n += num_samples - 1;
    tally.modes.insert(mode);
    Note(ScopeWord::kRunToRun, "control_samples", num_samples,
         static_cast<int>(plan_.requests.size()) * static_cast<int>(mode) + request);
  }

  void AddVaried(Mode mode, const Sample& sample) {
    const Witness& witness = sample.answer->witness;
    const bool in_company = witness.formed_size.value_or(0) >= 2;
    if (IsAfterTraffic(*sample.step)) {
      Add(ScopeWord::kHistory, mode, sample);
    } else if (witness.cached_tokens.value_or(0) > 0) {
      Add(ScopeWord::kPrefixCache, mode, sample);
    } else if (in_company) {
      Add(HasArrivals(*sample.step) ? ScopeWord::kArrival : ScopeWord::kBatch, mode, sample);
    }
  }

  void Add(ScopeWord word, Mode mode, const Sample& sample) {
    Tally& tally = tallies_[word];
    const int batch = BatchOf(sample);
    tally.modes.insert(mode);
    if (word == ScopeWord::kRestart) {
      tally.counted.insert(sample.record->launch);
      Note(word, "launch", sample.record->launch, batch);
      return;
    }
    tally.counted.insert(batch);
    for (const Axis& axis : AxesOf(sample)) {
      if (axis.name != "batch_size") {
        Note(word, axis.name, axis.value, batch);
      } else if (sample.answer->witness.formed_size) {
        Note(word, "formed_size", axis.value, batch);
      }
    }
  }

  // Replicas beyond the first one that answered.
  void AddReplicas(const ModeJudgement& mode) {
    const auto is_told = [](const RequestJudgement& request) {
      return request.verdict == Verdict::kPass || request.verdict == Verdict::kFail;
    };
    if (std::none_of(mode.requests.begin(), mode.requests.end(), is_told)) return;
    std::set<int> replicas;
    for (const StepRecord& record : transcript_.records) {
      const Step& step = plan_.steps[record.step];
      if (step.mode == mode.mode && IsJudged(step) && Counts(step, record)) {
        replicas.insert(record.replica);
      }
    }
    tallies_[ScopeWord::kReplica].modes.insert(mode.mode);
    for (const int replica : replicas) {
      Note(ScopeWord::kReplica, "replica", replica + 1, replica);
      if (replica != *replicas.begin()) tallies_[ScopeWord::kReplica].counted.insert(replica);
    }
  }

  void AddScores(const ModeJudgement& mode) {
    for (const RequestJudgement& request : mode.requests) {
      if (!request.prefill || request.prefill->num_positions == 0) continue;
      Tally& tally = tallies_[ScopeWord::kPrefillVsDecode];
      tally.counted.insert(request.request);
      tally.modes.insert(mode.mode);
      Note(ScopeWord::kPrefillVsDecode, "positions", request.prefill->num_positions,
           request.request);
      Note(ScopeWord::kPrefillVsDecode, "scores", request.prefill->num_scores, request.request);
    }
  }

  void Note(ScopeWord word, const std::string& axis, int64_t value, int counted) {
    tallies_[word].varied[axis][value].insert(counted);
  }

  // A number for each distinct composition.
  int BatchOf(const Sample& sample) {
    int& batch = batch_of_record_[sample.ref.record];
    if (batch < 0) {
      const int next = static_cast<int>(batch_of_key_.size());
      batch = batch_of_key_.try_emplace(CompositionKey(plan_, *sample.record), next).first->second;
    }
    return batch;
  }

  const Plan& plan_;
  const Transcript& transcript_;
  std::vector<int> batch_of_record_;
  std::map<std::string, int> batch_of_key_;
  std::map<ScopeWord, Tally> tallies_;
};

// The word's own axis, and those that took several values.
std::vector<ScopeAxis> VariedOf(const Tally& tally, const std::string& own) {
  std::vector<ScopeAxis> varied;
  for (const auto& [name, values] : tally.varied) {
    if (name != own && values.size() < 2) continue;
    ScopeAxis axis;
    axis.name = name;
    for (const auto& [value, counted] : values) {
      axis.values.push_back({value, NameOnAxis(name, value), static_cast<int>(counted.size())});
    }
    varied.push_back(std::move(axis));
  }
  return varied;
}

bool Passed(const ModeJudgement& mode, ScopeWord word) {
  if (word != ScopeWord::kRunToRun) return mode.verdict == Verdict::kPass;
  return std::none_of(mode.requests.begin(), mode.requests.end(), [](const auto& request) {
    return request.cause == Cause::kInput || request.cause == Cause::kNotRepeatable ||
           request.cause == Cause::kFirstRunOnly;
  });
}

std::string Names(const std::vector<Mode>& modes) {
  std::vector<std::string> names;
  for (const Mode mode : modes) names.push_back(ToString(mode));
  return fmt::format("{}", fmt::join(names, ", "));
}

bool HasStepOf(const Plan& plan, const std::vector<Mode>& modes) {
  const std::vector<int> steps = StepsToRun(plan);
  return std::any_of(steps.begin(), steps.end(), [&](int step) {
    return std::find(modes.begin(), modes.end(), plan.steps[step].mode) != modes.end();
  });
}

std::string WhyNotTested(const WordRule& rule, const Plan& plan) {
  if (rule.word == ScopeWord::kReplica) return "one target was asked";
  if (rule.word == ScopeWord::kGpuToGpu) {
    return "one device was asked; gate --baseline compares with the report of another";
  }
  std::vector<Mode> planned;
  for (const Mode mode : plan.modes) {
    if (std::find(rule.modes.begin(), rule.modes.end(), mode) != rule.modes.end()) {
      planned.push_back(mode);
    }
  }
  if (!planned.empty() && plan.shard && !HasStepOf(plan, planned)) {
    return fmt::format("{} {} of other shards", Names(planned), planned.size() == 1 ? "is" : "are");
  }
  if (!planned.empty()) return fmt::format("no step of {} that counts shows it", Names(planned));
  for (const Plan::Unplanned& unplanned : plan.unplanned) {
    if (std::find(rule.modes.begin(), rule.modes.end(), unplanned.mode) == rule.modes.end()) {
      continue;
    }
    return fmt::format("{}: {}", ToString(unplanned.mode), unplanned.reason);
  }
  return fmt::format("{} {} not asked for", Names(rule.modes),
                     rule.modes.size() == 1 ? "was" : "were");
}

}  // namespace

std::vector<WordScope> ScopeWordsOf(const Plan& plan, const Transcript& transcript,
                                    const std::vector<ModeJudgement>& modes) {
  WordTallies tallies(plan, transcript, modes);
  std::vector<WordScope> words;
  for (const WordRule& rule : Rules()) {
    const Tally& tally = tallies.Of(rule.word);
    WordScope word;
    word.word = rule.word;
    word.n = tally.N();
    word.varied = VariedOf(tally, rule.axis);
    bool passed = true;
    for (const ModeJudgement& mode : modes) {
      if (!tally.modes.contains(mode.mode)) continue;
      if (mode.across_replicas != (rule.word == ScopeWord::kReplica)) continue;
      if (std::find(word.modes.begin(), word.modes.end(), mode.mode) == word.modes.end()) {
        word.modes.push_back(mode.mode);
      }
      passed = passed && Passed(mode, rule.word);
    }
    if (word.n == 0) {
      word.why_not = WhyNotTested(rule, plan);
      const bool has_replicas = !modes.empty() && modes.front().replica.has_value();
      if (rule.word == ScopeWord::kReplica && has_replicas) {
        word.why_not = "no two replicas answered the same requests";
      }
    } else if (passed) {
      const bool is_of_starts =
          rule.word == ScopeWord::kRestart || rule.word == ScopeWord::kReplica;
      word.bound = BoundInWords(word.n, is_of_starts ? 0 : NumLaunches(transcript), rule.unit);
    }
    words.push_back(std::move(word));
  }
  return words;
}

std::vector<UncoveredWord> NotCovered(const std::vector<WordScope>& words,
                                      const std::vector<ScopeWord>& required) {
  std::vector<UncoveredWord> uncovered;
  for (const ScopeWord word : required) {
    for (const WordScope& scope : words) {
      if (scope.word == word && scope.n == 0) uncovered.push_back({word, scope.why_not});
    }
  }
  return uncovered;
}

BoundUnit UnitOf(ScopeWord word) {
  return RuleOf(word).unit;
}

std::string OwnAxisOf(ScopeWord word) {
  return RuleOf(word).axis;
}

int NumLaunches(const Transcript& transcript) {
  std::set<int> launches;
  for (const StepRecord& record : transcript.records) launches.insert(record.launch);
  return static_cast<int>(launches.size());
}

}  // namespace detcheck
