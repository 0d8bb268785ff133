#include "engine/remote/remote_tokenizer.h"

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/remote/answer_parts.h"
#include "engine/remote/endpoint.h"
#include "engine/remote/tier.h"

namespace detcheck {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kServerError = 500;

/// [1, 2, …], or [{"id": 1, …}, …]; absent where it is neither.
std::optional<std::vector<TokenId>> ReadIds(const JsonNode* list) {
  if (list == nullptr || !list->IsArray()) return std::nullopt;
  std::vector<TokenId> ids;
  for (const JsonNode& item : list->items()) {
    const JsonNode* node = item.IsObject() ? item.Find("id") : &item;
    const auto id = node == nullptr ? std::nullopt : ReadTokenId(*node);
    if (!id) return std::nullopt;
    ids.push_back(*id);
  }
  return ids;
}

/// What is wrong with a reply that is not of use.
Error Refusal(const Reply& reply, const std::string& label) {
  if (reply.Ok()) {
    return {ErrorCode::kTarget, label + ": the tokenizer's answer has no tokens and no text"};
  }
  const bool of_server = reply.status >= kServerError;
  return {of_server ? ErrorCode::kTarget : ErrorCode::kInput,
          of_server ? label + ": the tokenizer: " + reply.error : "the server: " + reply.error};
}

/// The answer of the first of `paths` that the server has; nothing where it has none of them.
std::optional<Reply> Ask(const std::vector<std::string>& paths, const std::string& body,
                         ServerCalls* server) {
  for (const std::string& path : paths) {
    Reply reply = server->Post(path, body);
    if (!reply.Missing()) return reply;
  }
  return std::nullopt;
}

}  // namespace

RemoteTokenizer::RemoteTokenizer(const RemoteOptions& options)
    : client_(EndpointOf(options)),
      calls_(&client_, never_stop_),
      adapter_(MakeAdapter(options, &calls_)),
      claims_(adapter_->Learn(&calls_)),
      end_points_(adapter_->tokenizer()) {
  ApplyDeclared(options.declared, &claims_);
  if (end_points_.encode.empty()) {
    throw Error(ErrorCode::kUnsupported, calls_.endpoint().label + ": " +
                                             std::string(adapter_->name()) +
                                             " has no end point that tokenizes");
  }
}

std::vector<TokenId> EncodeByServer(const TokenizerEndPoints& end_points, ServerCalls* server,
                                    const std::string& text, bool add_special) {
  Json body = Json::parse(end_points.constants);
  body[end_points.text] = text;
  if (!end_points.add_special.empty()) body[end_points.add_special] = add_special;
  const std::string& label = server->endpoint().label;
  const auto reply = Ask(end_points.encode, body.dump(), server);
  if (!reply) {
    throw Error(ErrorCode::kUnsupported,
                label + ": the server has no " + end_points.encode.front() + ", so no tokenizer");
  }
  if (!reply->Ok()) throw Refusal(*reply, label);
  const bool is_list = end_points.ids.empty();
  const auto ids = ReadIds(is_list ? &reply->root : reply->root.Find(end_points.ids));
  if (!ids) throw Refusal(*reply, label);
  return *ids;
}

std::optional<std::string> RemoteTokenizer::Decode(const std::vector<TokenId>& ids) {
  if (end_points_.decode.empty()) return std::nullopt;
  Json body = Json::parse(end_points_.decode_constants);
  body["tokens"] = ids;
  const auto reply = Ask(end_points_.decode, body.dump(), &calls_);
  if (!reply) return std::nullopt;
  if (!reply->Ok()) throw Refusal(*reply, calls_.endpoint().label);
  const JsonNode* text = reply->root.Find(end_points_.decoded);
  if (text == nullptr || !text->String()) throw Refusal(*reply, calls_.endpoint().label);
  return std::string(*text->String());
}

std::string RemoteTokenizer::Server() const {
  const std::string version = Claim("engine.version");
  return Claim("engine.name") + (version.empty() ? "" : " " + version);
}

std::string RemoteTokenizer::Model() const {
  const std::string id = Claim("model.id");
  return id.empty() ? Claim("model.name") : id;
}

std::string RemoteTokenizer::Claim(std::string_view field) const {
  for (const ManifestField& claim : claims_.subject) {
    if (claim.name == field) return claim.value;
  }
  return "";
}

}  // namespace detcheck
