#include "engine/remote/server_error.h"

#include <algorithm>

#include "engine/base/private_names.h"
#include "engine/base/utf8.h"

namespace detcheck {
namespace {

constexpr size_t kMostBytes = 300;

std::string TextOf(const JsonNode* node) {
  return node == nullptr ? "" : std::string(node->String().value_or(""));
}

/// Of FastAPI's validation errors: [{"loc": ["body", "prompt"], "msg": "..."}, ...].
std::string FirstDetail(const JsonNode& detail) {
  if (detail.String()) return std::string(*detail.String());
  if (detail.items().empty()) return "";
  const JsonNode& first = detail.items().front();
  std::string place;
  if (const JsonNode* loc = first.Find("loc")) {
    for (const JsonNode& part : loc->items()) place += (place.empty() ? "" : ".") + part.raw();
  }
  return (place.empty() ? "" : place + ": ") + TextOf(first.Find("msg"));
}

/// What the text of a message says, whatever the shape of the object.
std::string AnyMessage(const JsonNode& root) {
  if (const JsonNode* error = root.Find("error"); error != nullptr && !error->IsNull()) {
    if (error->String()) return std::string(*error->String());
    const std::string message = TextOf(error->Find("message"));
    return message.empty() ? "an error without a message" : message;
  }
  if (const std::string message = TextOf(root.Find("message")); !message.empty()) return message;
  const JsonNode* detail = root.Find("detail");
  return detail == nullptr ? "" : FirstDetail(*detail);
}

std::string WithoutSecret(std::string text, std::string_view secret) {
  if (secret.empty()) return text;
  for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
    text.replace(at, secret.size(), "(key)");
  }
  return text;
}

}  // namespace

std::string ErrorIn(const JsonNode& root) {
  const JsonNode* error = root.Find("error");
  const bool is_error =
      (error != nullptr && !error->IsNull()) || TextOf(root.Find("object")) == "error";
  if (!is_error) return "";
  const std::string message = AnyMessage(root);
  return message.empty() ? "an error without a message" : message;
}

std::string Shown(std::string_view text, std::string_view secret) {
  std::string shown = WithoutPaths(WithoutSecret(std::string(text), secret));
  std::string result;
  for (size_t at = 0; at < shown.size() && result.size() < kMostBytes;) {
    const size_t len = Utf8SequenceLen(std::string_view(shown).substr(at));
    const bool is_control = static_cast<unsigned char>(shown[at]) < 0x20 || shown[at] == 0x7f;
    result += len == 0 || is_control ? "?" : shown.substr(at, len);
    at += std::max<size_t>(len, 1);
  }
  return result;
}

std::string WhyFailed(const HttpResult& result, std::string_view secret) {
  if (result.error != HttpError::kStatus) return result.message;
  const ParsedJson body = ParseJson(result.body);
  const std::string said = body.ok() ? AnyMessage(body.root) : result.body;
  return said.empty() ? result.message : result.message + ": " + Shown(said, secret);
}

}  // namespace detcheck
