#include "engine/server/request_group.h"

#include <utility>

namespace detcheck {

RequestGroup::RequestGroup(std::vector<EngineRequest> requests)
    : requests_(std::move(requests)), answers_(requests_.size()) {}

void RequestGroup::SetPromptLogprobs(int i, std::vector<TokenLogprob> logprobs) {
  const std::lock_guard lock(mutex_);
  answers_[i].prompt_logprobs = std::move(logprobs);
}

void RequestGroup::SetRunning(int i, int num_running) {
  const std::lock_guard lock(mutex_);
  answers_[i].num_running = num_running;
}

void RequestGroup::AddToken(int i, const Completion& so_far) {
  {
    const std::lock_guard lock(mutex_);
    PromptAnswer& answer = answers_[i];
    answer.completion.token_ids.push_back(so_far.token_ids.back());
    if (!so_far.logprobs.empty()) answer.completion.logprobs.push_back(so_far.logprobs.back());
    ++num_news_;
  }
  news_.notify_all();
}

void RequestGroup::End(int i, Completion completion) {
  {
    const std::lock_guard lock(mutex_);
    answers_[i].completion = std::move(completion);
    answers_[i].ended = true;
    ++num_ended_;
    ++num_news_;
  }
  news_.notify_all();
}

void RequestGroup::Fail(const std::string& why) {
  for (int i = 0; i < size(); ++i) {
    if (Read(i).ended) continue;
    Completion completion;
    completion.finish_reason = FinishReason::kError;
    completion.error = why;
    End(i, std::move(completion));
  }
}

bool RequestGroup::WaitForNews(uint64_t* seen, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const bool any = news_.wait_for(lock, timeout, [&] { return num_news_ > *seen; });
  *seen = num_news_;
  return any;
}

bool RequestGroup::ended() const {
  const std::lock_guard lock(mutex_);
  return num_ended_ == size();
}

PromptAnswer RequestGroup::Read(int i) const {
  const std::lock_guard lock(mutex_);
  return answers_[i];
}

}  // namespace detcheck
