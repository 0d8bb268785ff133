// How a server is found out, and what is said of it.

#include <fmt/format.h>

#include <random>

#include "engine/base/error.h"
#include "engine/remote/remote_backend.h"
#include "engine/remote/remote_tokenizer.h"
#include "engine/remote/tier.h"

namespace detcheck {
namespace {

/// Distinct for every process; a name, not a draw of the plan.
std::string NewRunId() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

}  // namespace

RemoteBackend::RemoteBackend(const RemoteOptions& options)
    : options_(options),
      client_(EndpointOf(options)),
      calls_(&client_, never_stop_),
      adapter_(MakeAdapter(options, &calls_)),
      claims_(adapter_->Learn(&calls_)),
      run_id_(NewRunId()) {
  ApplyDeclared(options_.declared, &claims_);
  FindOut();
  Capabilities& can = claims_.facts.capabilities;
  // A flush that the server always refuses is none; it must have seen a request before the first.
  if (can.flush) can.flush = can.prefix_cache && Flush().accepted;
}

void RemoteBackend::FindOut() {
  Capabilities& can = claims_.facts.capabilities;
  const auto ask = [this](const Request& request) { return AskAlone(request); };
  const bool takes_text = can.text_in;
  can.text_in = false;
  if (can.ids_in) {
    try {
      return ApplyFindings(Preflight(claims_.facts, ask, {}, takes_text), &can);
    } catch (const Error& error) {
      if (!takes_text || error.code() != ErrorCode::kUnsupported) throw;
      if (options_.tokenizer.empty()) {
        throw Error(ErrorCode::kUnsupported,
                    std::string(error.what()) + "; --tokenizer would send text in their place");
      }
    }
    can.ids_in = false;
  }
  SendText();
  const auto some_prompt = [this](int start, int len) { return texts_->SomePrompt(start, len); };
  ApplyFindings(Preflight(claims_.facts, ask, some_prompt), &can);
}

void RemoteBackend::SendText() {
  if (options_.tokenizer.empty()) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} at {} takes no token IDs: --tokenizer would send text in their "
                            "place",
                            adapter_->name(), client_.endpoint().label));
  }
  PromptTexts::AskServer ask;
  if (const TokenizerEndPoints end_points = adapter_->tokenizer(); !end_points.encode.empty()) {
    ask = [this, end_points](const std::string& text) {
      return EncodeByServer(end_points, &calls_, text, true);
    };
  }
  texts_.emplace(options_.tokenizer, claims_.added_ids, std::move(ask));
  claims_.facts.capabilities.text_in = true;
  if (!claims_.facts.vocab_size) claims_.facts.vocab_size = texts_->vocab_size();
}

std::string RemoteBackend::Summary() const {
  return fmt::format("{} at {}: {}", adapter_->name(), client_.endpoint().label,
                     TierInWords(claims_.facts.capabilities));
}

Description RemoteBackend::Describe() {
  ServerClaims now = adapter_->Learn(&calls_);
  ApplyDeclared(options_.declared, &now);
  if (const std::string text = fingerprints_.Text(); !text.empty()) {
    now.subject.push_back({"engine.fingerprint", text, FieldSource::kClaimed});
  }
  if (texts_) {
    now.subject.push_back(
        {"model.tokenizer_sha256", texts_->file_sha256(), FieldSource::kDeclared});
  }
  return {.engine = fmt::format("{} at {}", adapter_->name(), client_.endpoint().label),
          .facts = claims_.facts,
          .subject = std::move(now.subject)};
}

}  // namespace detcheck
