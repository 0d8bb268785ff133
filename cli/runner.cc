#include "cli/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <thread>
#include <utility>

#include "cli/step_voids.h"
#include "engine/base/private_names.h"
#include "fixtures/fixture.h"
#include "reports/manifest_fields.h"

namespace detcheck {
namespace {

// Whether some answer stops where `stop` fell rather than where the plan says.
bool WasCutOff(const Step& step, const StepRecord& record) {
  for (size_t i = 0; i < record.completions.size(); ++i) {
    if (WasCutOff(step.items[i], record.completions[i])) return true;
  }
  return false;
}

}  // namespace

Runner::Runner(const Plan& plan, Backend* backend, const RunnerSettings& settings,
               const std::atomic<bool>& stop, TranscriptWriter* writer, RunObserver* observer,
               Transcript* transcript)
    : plan_(plan),
      backend_(backend),
      settings_(settings),
      stop_(stop),
      writer_(writer),
      observer_(observer),
      transcript_(transcript),
      prompts_(plan, *transcript),
      num_attempts_(plan.steps.size(), 0) {
  for (size_t i = 0; i < transcript_->records.size(); ++i) {
    const StepRecord& record = transcript_->records[i];
    prompts_.NoteRecord(static_cast<int>(i));
    int& num_attempts = num_attempts_[record.step];
    num_attempts = std::max(num_attempts, record.attempt + 1);
    launch_ = std::max(launch_, record.launch + 1);
    earlier_s_ = std::max(earlier_s_, record.ended_s);
  }
}

RunEnd Runner::Run(const std::vector<int>& order) {
  for (const int step : order) {
    if (MustEnd()) break;
    if (observer_) observer_->OnStepStarted(step);
    RunStep(step);
    if (end_ != RunEnd::kComplete) break;
    if (observer_) observer_->OnStepEnded(step);
  }
  transcript_->complete = end_ == RunEnd::kComplete;
  if (end_ != RunEnd::kTargetLost) ReadIdentityAgain();
  return end_;
}

bool Runner::MustEnd() {
  if (stop_) {
    End(RunEnd::kInterrupted, "interrupted");
  } else if (settings_.budget_s > 0.0 &&
             settings_.spent_s + Seconds() - earlier_s_ >= settings_.budget_s) {
    End(RunEnd::kBudget, fmt::format("budget of {:g} s spent", settings_.budget_s));
  }
  return end_ != RunEnd::kComplete;
}

void Runner::RunStep(int step) {
  for (int i = 0; i < settings_.step_attempts; ++i) {
    if (i > 0) RunPreparations(step);
    if (end_ != RunEnd::kComplete || Attempt(step) != Outcome::kVoided) return;
    if (MustEnd()) return;
  }
}

// Puts the cache back to what it held before the step was attempted.
void Runner::RunPreparations(int step) {
  int first = step;
  while (first > 0 && plan_.steps[first - 1].mode == plan_.steps[step].mode &&
         IsPreparation(plan_.steps[first - 1])) {
    --first;
  }
  for (int i = first; i < step && end_ == RunEnd::kComplete; ++i) Attempt(i);
}

Runner::Outcome Runner::Attempt(int step_idx) {
  const Step& step = plan_.steps[step_idx];
  StepRecord record;
  record.step = step_idx;
  record.replica = settings_.replica;
  record.started_s = Seconds();
  Outcome outcome = Outcome::kCounted;
  try {
    Execute(step, &record);
    num_failures_ = 0;
  } catch (const Error& error) {
    outcome = NoteError(error, &record);
  } catch (const std::bad_alloc&) {
    outcome = NoteError(Error(ErrorCode::kDevice, "out of memory"), &record);
  }
  record.launch = launch_;
  record.ended_s = Seconds();
  if (stop_ && (record.error || WasCutOff(step, record))) {
    End(RunEnd::kInterrupted, "interrupted");
    if (record.completions.empty()) return Outcome::kHopeless;
    record.voided = "interrupted";
  }
  if (!record.voided) record.voided = WhyVoid(step, record);
  if (outcome == Outcome::kCounted && record.voided) outcome = Outcome::kVoided;
  Append(std::move(record));
  return outcome;
}

void Runner::Execute(const Step& step, StepRecord* record) {
  switch (step.kind) {
    case StepKind::kFlush: {
      const FlushResult flush = backend_->Flush();
      record->flush_accepted = flush.accepted;
      record->detail = WithoutPaths(flush.detail);
      break;
    }
    case StepKind::kRestart:
      backend_->Restart();
      ++launch_;
      break;
    case StepKind::kBatch:
      ExecuteBatch(step, record);
      break;
    case StepKind::kScore: {
      const std::vector<TokenId> ids = prompts_.Resolve(plan_.requests[step.score_request]);
      record->scores = backend_->Score(ids, step.score_top_logprobs);
      break;
    }
    case StepKind::kWait:
      Wait(step.wait_seconds);
      break;
  }
}

void Runner::ExecuteBatch(const Step& step, StepRecord* record) {
  std::vector<BatchItem> items;
  for (const PlannedItem& planned : step.items) {
    const PlannedRequest& request = plan_.requests[planned.request];
    BatchItem item;
    item.request.prompt_ids = prompts_.Resolve(request);
    item.request.sampling = request.sampling;
    item.request.max_new_tokens = request.max_new_tokens;
    item.request.ignore_eos = request.ignore_eos;
    item.request.top_logprobs = planned.top_logprobs;
    item.request.cache = planned.cache;
    item.release = planned.release;
    item.abort_after_tokens = planned.abort_after_tokens;
    record->prompt_digests.push_back(PromptDigest(item.request.prompt_ids));
    items.push_back(std::move(item));
  }
  std::vector<int> answered(items.size(), 0);
  int total = 0;
  const auto on_token = [&](int item, int num_tokens) {
    total += num_tokens - std::exchange(answered[item], num_tokens);
    if (observer_) observer_->OnTokens(total);
  };
  BatchResult result = backend_->Complete(items, stop_, on_token);
  record->completions = std::move(result.completions);
  for (Completion& completion : record->completions) {
    completion.error = WithoutPaths(completion.error);
  }
  record->engine_steps = std::move(result.steps);
  if (!result.voided.empty()) record->voided = std::move(result.voided);
}

void Runner::Wait(double seconds) const {
  const double until = Seconds() + seconds;
  while (!stop_ && Seconds() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Runner::Outcome Runner::NoteError(const Error& error, StepRecord* record) {
  if (error.code() == ErrorCode::kUsage || error.code() == ErrorCode::kInput) throw error;
  const std::string what = WithoutPaths(error.what());  // Records go into the report.
  record->error = what;
  record->voided = fmt::format("could not be carried out: {}", what);
  if (error.code() == ErrorCode::kUnsupported) return Outcome::kHopeless;
  // One step may be more than the target can bear; a second one that fails says that it is gone.
  ++num_failures_;
  if (error.code() != ErrorCode::kTarget || num_failures_ > settings_.step_attempts) {
    End(RunEnd::kTargetLost, fmt::format("target lost: {}", what));
    return Outcome::kHopeless;
  }
  Wait(settings_.retry_pause_s);
  return Outcome::kVoided;
}

void Runner::Append(StepRecord record) {
  record.attempt = num_attempts_[record.step]++;
  Write(record);
  transcript_->records.push_back(std::move(record));
  prompts_.NoteRecord(static_cast<int>(transcript_->records.size()) - 1);
}

// What was answered so far is judged all the same; the file can be gone on with.
void Runner::Write(const StepRecord& record) {
  if (!writer_) return;
  try {
    writer_->Append(record);
  } catch (const Error& error) {
    writer_ = nullptr;
    End(RunEnd::kUnrecorded, fmt::format("not recorded: {}", WithoutPaths(error.what())));
  }
}

void Runner::End(RunEnd end, const std::string& why) {
  end_ = end;
  transcript_->ended_early = why;
}

void Runner::ReadIdentityAgain() {
  try {
    transcript_->identity_after = IdentityDigest(backend_->Describe().subject);
  } catch (const Error&) {
    transcript_->identity_after.clear();  // The report says that it could not be read.
  }
}

double Runner::Seconds() const {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began_;
  return earlier_s_ + elapsed.count();
}

}  // namespace detcheck
