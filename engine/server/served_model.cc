#include "engine/server/served_model.h"

#include <chrono>
#include <random>
#include <utility>

#include "engine/base/error.h"

namespace detcheck {
namespace {

/// How soon a client that goes is noticed where nothing is written to it.
constexpr std::chrono::milliseconds kLookAtPeer{50};
constexpr uint64_t kSeedInDeterministicMode = 42;

}  // namespace

std::optional<std::string> ServedModel::Field(const std::string& field) const {
  for (const ManifestField& known : description.subject) {
    if (known.name == field) return known.value;
  }
  return std::nullopt;
}

std::vector<TokenId> ServedModel::Encode(const std::string& text, const std::string& place,
                                         bool add_special) const {
  if (!codec) {
    throw ApiError(400, place + ": the model has no tokenizer.json; give token IDs");
  }
  std::vector<TokenId> ids;
  try {
    ids = codec->Encode(text, add_special);
  } catch (const Error& error) {
    throw ApiError(400, place + ": " + error.what());
  }
  if (ids.empty()) throw ApiError(400, place + " is empty");
  return ids;
}

std::string ServedModel::Decode(const std::vector<TokenId>& ids, bool skip_special,
                                bool complete) const {
  if (!codec) return "";
  return PrintableText(codec->BytesOf(std::span(ids), skip_special), complete);
}

std::optional<std::string> ServedModel::TokenText(TokenId id) const {
  if (!codec) return std::nullopt;
  return PrintableText(codec->BytesOf(id, /*skip_special=*/false), /*complete=*/true);
}

void ServedModel::RequirePossible(const Request& request, const std::string& place) const {
  if (const auto why = engine->WhyRefused(request)) throw ApiError(400, place + ": " + *why);
}

uint64_t ServedModel::DefaultSeed() const {
  if (options.deterministic) return kSeedInDeterministicMode;
  std::random_device device;
  return (uint64_t{device()} << 20) ^ device();
}

GroupFollower::~GroupFollower() {
  if (!group_->ended()) loop_->Cancel(group_);
}

bool GroupFollower::Wait() {
  while (true) {
    const bool any = group_->WaitForNews(&seen_, kLookAtPeer);
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ >= kLookAtPeer) {  // News may come without a pause.
      looked_ = now;
      if (peer_.Gone()) return false;
    }
    if (any) return true;
  }
}

std::vector<PromptAnswer> RunToEnd(const ServedModel& model, std::vector<EngineRequest> requests,
                                   const HttpPeer& peer) {
  const auto group = std::make_shared<RequestGroup>(std::move(requests));
  model.loop->Submit(group);
  GroupFollower follower(model.loop, group, peer);
  while (!group->ended()) {
    if (!follower.Wait()) throw ApiError(499, "the client closed the connection");
  }
  std::vector<PromptAnswer> answers;
  for (int i = 0; i < group->size(); ++i) {
    answers.push_back(group->Read(i));
    const Completion& completion = answers.back().completion;
    if (completion.finish_reason == FinishReason::kError) throw ApiError(500, completion.error);
  }
  return answers;
}

}  // namespace detcheck
