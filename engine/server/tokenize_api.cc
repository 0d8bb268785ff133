#include "engine/server/tokenize_api.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/server/completions_request.h"
#include "engine/server/json_fields.h"

namespace detcheck {
namespace {

using json = nlohmann::ordered_json;

constexpr int kNotImplemented = 501;

void RequireTokenizer(const ServedModel& model) {
  if (!model.codec) throw ApiError(kNotImplemented, "the model has no tokenizer.json");
}

}  // namespace

HttpReply Tokenize(const ServedModel& model, const ServedRequest& http) {
  RequireTokenizer(model);
  const JsonBody body(http.body);
  const JsonFields fields = body.fields();
  RequireModel(model, fields);
  if (!fields.Has("prompt")) throw ApiError(400, "prompt is missing");
  const std::string text = fields.Text("prompt", "");
  std::vector<TokenId> ids;
  if (!text.empty()) ids = model.Encode(text, "prompt", fields.Bool("add_special_tokens", true));
  HttpReply reply;
  reply.body = json{
      {"count", ids.size()},
      {"max_model_len", model.config().context_len},
      {"tokens", ids},
      {"token_strs",
       nullptr}}.dump();
  return reply;
}

HttpReply Detokenize(const ServedModel& model, const ServedRequest& http) {
  RequireTokenizer(model);
  const JsonBody body(http.body);
  const JsonFields fields = body.fields();
  RequireModel(model, fields);
  const nlohmann::json* tokens = fields.Find("tokens");
  if (tokens == nullptr) throw ApiError(400, "tokens is missing");
  const auto ids = ReadTokenIds(*tokens, "tokens", model.config().vocab_size);
  HttpReply reply;
  const std::string text = model.Decode(ids, fields.Bool("skip_special_tokens", false));
  reply.body = json{{"prompt", text}, {"text", text}}.dump();
  return reply;
}

}  // namespace detcheck
