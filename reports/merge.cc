#include "reports/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "engine/base/error.h"
#include "fixtures/file_io.h"
#include "fixtures/shard.h"
#include "reports/manifest_fields.h"

namespace detcheck {
namespace {

constexpr std::string_view kProcessStart = "process.start";
/// Of the harness: what the embedded engine was built from, and how.
constexpr std::array<std::string_view, 5> kOfTheBuild = {
    "detcheck.version", "detcheck.git_revision", "detcheck.git_dirty", "compiler", "build_type"};

[[noreturn]] void Refuse(const ShardReport& shard, const std::string& fact) {
  throw Error(ErrorCode::kInput, OneLine(shard.file) + ": " + fact);
}

const Shard& ShardIn(const ShardReport& shard) {
  if (!shard.report.plan.shard) Refuse(shard, "plan.shard: is missing: --shard did not make it");
  return *shard.report.plan.shard;
}

void RequireSamePlan(const ShardReport& first, const ShardReport& other) {
  const Plan& a = first.report.plan;
  const Plan& b = other.report.plan;
  const std::string file = OneLine(first.file);
  if (!(a.criterion == b.criterion)) {
    Refuse(other,
           fmt::format("plan.criterion: {}, that of {} is {}", OneLine(ToString(b.criterion)), file,
                       OneLine(ToString(a.criterion))));
  }
  if (ShardIn(first).count != ShardIn(other).count) {
    Refuse(other, fmt::format("plan.shard.count: {}, that of {} is {}", ShardIn(other).count, file,
                              ShardIn(first).count));
  }
  if (!(WholePlan(a) == WholePlan(b))) Refuse(other, "plan: is not that of " + file);
  const auto digest = [](const ShardReport& shard) {
    return shard.report.protocol ? ProtocolDigest(*shard.report.protocol) : std::string();
  };
  if (digest(first) != digest(other)) Refuse(other, "protocol: is not that of " + file);
}

// `place` names the manifest.
void RequireSameField(const ShardReport& first, const Manifest& a, const ShardReport& other,
                      const Manifest& b, const std::string& place, std::string_view name) {
  if (FieldValue(a, name) == FieldValue(b, name)) return;
  Refuse(other, fmt::format("{}.{}: another target: '{}', that of {} is '{}'", place, name,
                            OneLine(FieldValue(b, name)), OneLine(first.file),
                            OneLine(FieldValue(a, name))));
}

void RequireSameSubject(const ShardReport& first, const Manifest& a, const ShardReport& other,
                        const Manifest& b, const std::string& place) {
  for (const std::string& name : DifferingIdentity(a, b)) {
    if (name != kProcessStart) RequireSameField(first, a, other, b, place, name);
  }
}

// The embedded engine is part of detcheck.
void RequireSameBuild(const ShardReport& first, const ShardReport& other) {
  if (!FieldValue(first.report.subject, "engine.name").starts_with("detcheck-")) return;
  for (const std::string_view name : kOfTheBuild) {
    RequireSameField(first, first.report.harness, other, other.report.harness, "harness", name);
  }
}

void RequireSameTarget(const ShardReport& first, const ShardReport& other) {
  const std::vector<Replica>& a = first.report.replicas;
  const std::vector<Replica>& b = other.report.replicas;
  if (a.size() != b.size()) {
    Refuse(other, fmt::format("replicas: {}, {} has {}", b.size(), OneLine(first.file), a.size()));
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].subject.empty() || b[i].subject.empty()) continue;  // Was not reached.
    RequireSameSubject(first, a[i].subject, other, b[i].subject,
                       fmt::format("replicas[{}].subject", i));
  }
  if (a.empty()) {
    RequireSameSubject(first, first.report.subject, other, other.report.subject, "subject");
    RequireSameBuild(first, other);
  }
}

void RequireEachOnce(const std::vector<ShardReport>& shards) {
  const int count = ShardIn(shards.front()).count;
  std::vector<const ShardReport*> by_index(static_cast<size_t>(count), nullptr);
  for (const ShardReport& shard : shards) {
    const ShardReport*& place = by_index[ShardIn(shard).index - 1];
    if (place != nullptr) {
      Refuse(shard, fmt::format("plan.shard.index: {} is {} already", ShardIn(shard).index,
                                OneLine(place->file)));
    }
    place = &shard;
  }
  std::string missing;
  for (int i = 0; i < count; ++i) {
    if (by_index[i] == nullptr) missing += (missing.empty() ? "" : ", ") + std::to_string(i + 1);
  }
  if (!missing.empty()) {
    Refuse(shards.front(), fmt::format("plan.shard: missing of {} shards: {}", count, missing));
  }
}

void RequireAllSteps(const std::vector<ShardReport>& shards) {
  std::vector<bool> has_step(shards.front().report.plan.steps.size(), false);
  for (const ShardReport& shard : shards) {
    for (const int step : ShardIn(shard).steps) has_step[step] = true;
  }
  const auto it = std::find(has_step.begin(), has_step.end(), false);
  if (it == has_step.end()) return;
  Refuse(shards.front(),
         fmt::format("plan.shard.steps: step {} is in no shard", it - has_step.begin()));
}

// "all --shard 1/3 --n-trials 3" without the shard.
std::string WithoutShard(std::string arguments) {
  constexpr std::string_view kOption = " --shard ";
  const size_t begin = arguments.find(kOption);
  if (begin == std::string::npos) return arguments;
  return arguments.erase(begin, arguments.find(' ', begin + kOption.size()) - begin);
}

// What the harnesses of all shards have in common.
Manifest CommonHarness(const std::vector<ShardReport>& shards) {
  std::vector<std::pair<std::string, Manifest>> named;
  for (const ShardReport& shard : shards) {
    named.emplace_back(fmt::format("shard {}", ShardIn(shard).index), shard.report.harness);
    for (ManifestField& field : named.back().second) {
      if (field.name == "arguments") field.value = WithoutShard(field.value);
    }
  }
  return CommonManifest(named);
}

// The digest of one target's identity after two shards, whose digests before them need not be the
// same (its process may have been started anew). That it changed in one of them tells before that
// it could not be read again, and both before that it is what it was.
std::string IdentityAfter(const std::string& before, const std::string& after,
                          const std::string& next_before, const std::string& next_after) {
  const bool is_changed = !before.empty() && !after.empty() && after != before;
  if (is_changed || next_after == next_before || next_before.empty()) return after;
  return next_after == before ? next_before : next_after;
}

// Adds what the targets of the next shard were before and after it.
void AddIdentities(const Transcript& next, size_t num_targets, Transcript* all) {
  const auto split = [&](const std::string& joined) {
    std::vector<std::string> each =
        num_targets == 1 ? std::vector<std::string>{joined} : SplitIdentities(joined);
    each.resize(num_targets);
    return each;
  };
  const auto join = [](const std::vector<std::string>& each) {
    return each.size() == 1 ? each.front() : JoinIdentities(each);
  };
  std::vector<std::string> before = split(all->identity);
  std::vector<std::string> after = split(all->identity_after);
  const std::vector<std::string> next_before = split(next.identity);
  const std::vector<std::string> next_after = split(next.identity_after);
  for (size_t i = 0; i < num_targets; ++i) {
    if (before[i].empty()) {  // Was not reached before.
      before[i] = next_before[i];
      after[i] = next_after[i];
    } else {
      after[i] = IdentityAfter(before[i], after[i], next_before[i], next_after[i]);
    }
  }
  all->identity = join(before);
  all->identity_after = join(after);
}

/// Adds reports to the first, one after another.
class Merging {
 public:
  explicit Merging(Report first) : report_(std::move(first)) {
    report_.plan = WholePlan(std::move(report_.plan));
    report_.transcript.plan_digest = PlanDigest(report_.plan);
    NoteStart(report_, 0);
    Note(1, &report_.transcript.ended_early);
    for (const StepRecord& record : report_.transcript.records) NoteRecord(record);
  }

  void Add(int index, Report shard) {
    const int launch = FirstLaunchOf(shard);
    const double begins_s = ends_s_;
    Note(index, &shard.transcript.ended_early);
    for (StepRecord& record : shard.transcript.records) {
      record.launch += launch;
      record.started_s += begins_s;
      record.ended_s += begins_s;
      NoteRecord(record);
      report_.transcript.records.push_back(std::move(record));
    }
    AddFacts(shard);
    for (const auto& [text, finding] : shard.texts) AddFinding(text, finding);
  }

  Report Take(Manifest harness) {
    report_.harness = std::move(harness);
    if (starts_.size() > 1) {
      for (ManifestField& field : report_.subject) {
        if (field.name == kProcessStart) field = {field.name, "", FieldSource::kUnknown};
      }
    }
    JudgeReport(&report_);
    return std::move(report_);
  }

 private:
  void NoteRecord(const StepRecord& record) {
    ends_s_ = std::max(ends_s_, record.ended_s);
    num_launches_ = std::max(num_launches_, record.launch + 1);
  }

  void NoteStart(const Report& shard, int launch) {
    starts_.emplace(FieldValue(shard.subject, kProcessStart), launch);
  }

  // The number of the shard's first start of the target.
  int FirstLaunchOf(const Report& shard) {
    // A target that the harness starts itself is another one in each run.
    if (!shard.facts.capabilities.restart) {
      const auto it = starts_.find(FieldValue(shard.subject, kProcessStart));
      if (it != starts_.end()) return it->second;
    }
    NoteStart(shard, num_launches_);
    return num_launches_;
  }

  static void Note(int index, std::string* ended_early) {
    if (!ended_early->empty()) *ended_early += fmt::format(" (shard {})", index);
  }

  void AddFacts(const Report& shard) {
    Transcript& all = report_.transcript;
    const Transcript& own = shard.transcript;
    all.complete = all.complete && own.complete;
    // An infrastructure error tells before other ends.
    if (all.ended_early.empty() || (own.ended_early.starts_with("target lost") &&
                                    !all.ended_early.starts_with("target lost"))) {
      all.ended_early = own.ended_early;
    }
    AddIdentities(own, std::max<size_t>(report_.replicas.size(), 1), &all);
    for (size_t i = 0; i < report_.replicas.size(); ++i) {
      Replica& replica = report_.replicas[i];
      if (replica.subject.empty()) replica.subject = shard.replicas[i].subject;
      if (replica.ended_early.empty()) replica.ended_early = shard.replicas[i].ended_early;
    }
    RunFacts& run = report_.run;
    run.started_utc = std::min(run.started_utc, shard.run.started_utc);
    run.duration_s += shard.run.duration_s;
    run.interrupted = run.interrupted || shard.run.interrupted;
    run.resumed_records += shard.run.resumed_records;
  }

  // What two shards found of one text must be the same, or it is not known.
  void AddFinding(const std::string& text, const TextFinding& finding) {
    const auto [it, is_new] = report_.texts.emplace(text, finding);
    if (is_new || it->second.validity == finding.validity) return;
    it->second = {Validity::kUnknown, "shards found different things of it"};
  }

  Report report_;
  std::map<std::string, int> starts_;  // First launch, by the process's start.
  int num_launches_ = 0;
  double ends_s_ = 0.0;
};

}  // namespace

Report MergeShards(std::vector<ShardReport> shards) {
  for (const ShardReport& shard : shards) {
    RequireSamePlan(shards.front(), shard);
    RequireSameTarget(shards.front(), shard);
  }
  RequireEachOnce(shards);
  RequireAllSteps(shards);
  std::sort(shards.begin(), shards.end(), [](const ShardReport& a, const ShardReport& b) {
    return ShardIn(a).index < ShardIn(b).index;
  });
  Manifest harness = CommonHarness(shards);
  Merging merging(std::move(shards.front().report));
  for (size_t i = 1; i < shards.size(); ++i) {
    merging.Add(static_cast<int>(i) + 1, std::move(shards[i].report));
  }
  return merging.Take(std::move(harness));
}

}  // namespace detcheck
