#include "cli/replica_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include "cli/print.h"
#include "cli/progress.h"
#include "cli/resume.h"
#include "engine/base/private_names.h"
#include "fixtures/file_io.h"
#include "fixtures/shard.h"
#include "reports/manifest_fields.h"

namespace detcheck {
namespace {

RunEnd Graver(RunEnd a, RunEnd b) {
  constexpr std::array kByGravity = {RunEnd::kComplete, RunEnd::kBudget, RunEnd::kTargetLost,
                                     RunEnd::kUnrecorded, RunEnd::kInterrupted};
  const auto gravity = [&](RunEnd end) {
    return std::find(kByGravity.begin(), kByGravity.end(), end);
  };
  return gravity(a) < gravity(b) ? b : a;
}

}  // namespace

RunsOfTargets::RunsOfTargets(const Plan& plan, const Options& options, Targets* targets,
                             RunFiles* files)
    : plan_(plan), options_(options), targets_(targets), files_(files) {
  todo_.resize(targets->each().size());
  if (options.resume && files->HasEarlierRun()) {
    Resume();
  } else {
    Begin();
  }
}

int RunsOfTargets::NumResumed() const {
  size_t num_records = 0;
  for (const Todo& todo : todo_) num_records += todo.transcript.records.size();
  return static_cast<int>(num_records);
}

std::string RunsOfTargets::IdentityOf(const Target& target) const {
  return target.backend ? IdentityDigest(target.description.subject) : "";
}

void RunsOfTargets::Begin() {
  std::vector<std::string> identities;
  for (size_t i = 0; i < todo_.size(); ++i) {
    Transcript& transcript = todo_[i].transcript;
    transcript.plan_digest = PlanDigest(plan_);
    transcript.identity = IdentityOf(targets_->each()[i]);
    identities.push_back(transcript.identity);
    todo_[i].order = StepsToRun(plan_);
  }
  files_->Begin(PlanDigest(plan_), JoinIdentities(identities));
}

void RunsOfTargets::RequireRecords(const Transcript& earlier) const {
  const bool is_of_the_plan = earlier.plan_digest == PlanDigest(plan_);  // Else refused for that.
  for (size_t i = 0; i < earlier.records.size(); ++i) {
    const StepRecord& record = earlier.records[i];
    std::string fault = is_of_the_plan ? RecordFault(plan_, record) : "";
    if (record.replica >= std::ssize(todo_)) {
      fault = fmt::format("replica: {} is not below {}", record.replica, todo_.size());
    }
    if (fault.empty()) continue;
    throw Error(ErrorCode::kInput,
                fmt::format("{}: line {}: {}", OneLine(files_->transcript_path()), i + 2, fault));
  }
}

void RunsOfTargets::Resume() {
  Transcript earlier = files_->EarlierRun();
  const size_t num_earlier = SplitIdentities(earlier.identity).size();
  if (num_earlier != todo_.size()) {
    throw Error(ErrorCode::kInput,
                fmt::format("{}: line 1: of {} targets, not of {}",
                            OneLine(files_->transcript_path()), num_earlier, todo_.size()));
  }
  RequireRecords(earlier);
  std::vector<Transcript> each = SplitByReplica(&earlier, std::vector<Replica>(todo_.size()));
  std::vector<Transcript> kept;
  for (size_t i = 0; i < todo_.size(); ++i) {
    Resumption resumption = ResumeFrom(std::move(each[i]), files_->transcript_path(), plan_,
                                       PlanDigest(plan_), IdentityOf(targets_->each()[i]));
    todo_[i] = {std::move(resumption.transcript), std::move(resumption.order)};
    todo_[i].transcript.complete = false;
    kept.push_back(todo_[i].transcript);
  }
  files_->Continue(JoinReplicas(std::move(kept)));
}

RunEnd RunsOfTargets::RunOne(int replica, double spent_s, const std::atomic<bool>& stop) {
  Target& target = targets_->each()[static_cast<size_t>(replica)];
  Todo& todo = todo_[static_cast<size_t>(replica)];
  const auto not_run = [&](RunEnd end, const std::string& why) {
    todo.transcript.ended_early = why;
    todo.transcript.identity_after = todo.transcript.identity;
    return end;
  };
  if (target.failure) {
    const std::string why = WithoutPaths(target.failure->what());
    const bool is_lost = target.failure->code() != ErrorCode::kUnsupported;
    return not_run(is_lost ? RunEnd::kTargetLost : RunEnd::kComplete,
                   (is_lost ? "target lost: " : "cannot be tested: ") + why);
  }
  if (!unrecorded_.empty()) return not_run(RunEnd::kUnrecorded, unrecorded_);
  const double budget_s = options_.runner.budget_s;
  if (replica > 0 && stop) return not_run(RunEnd::kInterrupted, "interrupted");
  if (replica > 0 && budget_s > 0.0 && spent_s >= budget_s) {
    return not_run(RunEnd::kBudget, fmt::format("budget of {:g} s spent", budget_s));
  }
  RunnerSettings settings = options_.runner;
  settings.replica = replica;
  settings.spent_s = spent_s;
  const bool is_shown = options_.progress && !options_.quiet;
  if (targets_->AreReplicas() && !options_.quiet) {
    PrintNote(fmt::format("{} of {}\n", NameOfReplica(replica), todo_.size()));
  }
  Progress progress(plan_, todo.order, is_shown ? stderr : nullptr);
  Runner runner(plan_, target.backend.get(), settings, stop, files_->writer(), &progress,
                &todo.transcript);
  const RunEnd end = runner.Run(todo.order);
  if (end == RunEnd::kUnrecorded) unrecorded_ = todo.transcript.ended_early;
  return end;
}

TargetRuns RunsOfTargets::Run(const std::atomic<bool>& stop) {
  const auto began = std::chrono::steady_clock::now();
  TargetRuns runs;
  runs.replicas = targets_->Replicas();
  std::vector<Transcript> each;
  for (size_t i = 0; i < todo_.size(); ++i) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began;
    runs.end = Graver(runs.end, RunOne(static_cast<int>(i), spent.count(), stop));
    Transcript& transcript = todo_[i].transcript;
    if (!runs.replicas.empty()) runs.replicas[i].ended_early = transcript.ended_early;
    each.push_back(std::move(transcript));
  }
  runs.transcript =
      targets_->AreReplicas() ? JoinReplicas(std::move(each)) : std::move(each.front());
  return runs;
}

}  // namespace detcheck
