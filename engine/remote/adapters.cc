#include <array>

#include "engine/base/error.h"
#include "engine/remote/adapter.h"
#include "engine/remote/llamacpp.h"
#include "engine/remote/lmdeploy.h"
#include "engine/remote/ollama.h"
#include "engine/remote/openai.h"
#include "engine/remote/sglang.h"
#include "engine/remote/tgi.h"
#include "engine/remote/trtllm.h"
#include "engine/remote/vllm.h"

namespace detcheck {
namespace {

struct Known {
  std::string_view name;
  /// Whether the server is of this kind, as far as its own end points tell.
  bool (*is)(ServerCalls* server);
  std::unique_ptr<Adapter> (*make)(const RemoteOptions& options);
};

/// In the order in which a server is looked at: those that cannot be taken for another come first,
/// and last what any of them may be.
constexpr auto kKnown = std::to_array<Known>({
    {"sglang", IsSglang, MakeSglangAdapter},
    {"vllm", IsVllm, MakeVllmAdapter},
    {"trtllm", IsTrtllm, MakeTrtllmAdapter},
    {"lmdeploy", IsLmdeploy, MakeLmdeployAdapter},
    {"llamacpp", IsLlamacpp, MakeLlamacppAdapter},
    {"tgi", IsTgi, MakeTgiAdapter},
    {"ollama", IsOllama, MakeOllamaAdapter},
    {"openai", IsOpenai, MakeOpenaiAdapter},
});

constexpr auto kNames = [] {
  std::array<std::string_view, kKnown.size()> names{};
  for (size_t i = 0; i < names.size(); ++i) names[i] = kKnown[i].name;
  return names;
}();

std::string AllNames() {
  std::string list;
  for (const std::string_view name : kNames) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

}  // namespace

HttpRequest Adapter::AskScores(const std::vector<TokenId>&, int, const std::string&) const {
  throw Error(ErrorCode::kUnsupported, "the server does not give the logprobs of prompt tokens");
}

std::vector<TokenLogprob> Adapter::ReadScores(const JsonNode&, const std::vector<TokenId>&) const {
  throw Error(ErrorCode::kUnsupported, "the server does not give the logprobs of prompt tokens");
}

FlushAttempt Adapter::TryFlush(ServerCalls*) {
  throw Error(ErrorCode::kUnsupported, "the server has no end point that empties its prefix cache");
}

std::span<const std::string_view> AdapterNames() {
  return kNames;
}

std::unique_ptr<Adapter> MakeAdapter(const RemoteOptions& options, ServerCalls* server) {
  const bool any = options.api == "auto";
  for (const Known& known : kKnown) {
    if (any ? known.is(server) : known.name == options.api) return known.make(options);
  }
  if (any) {
    throw Error(ErrorCode::kTarget, server->endpoint().label + ": --api auto found none of " +
                                        AllNames() + "; name one");
  }
  throw Error(ErrorCode::kUsage, "--api " + options.api + ": there are auto, " + AllNames());
}

}  // namespace detcheck
