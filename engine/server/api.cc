#include "engine/server/api.h"

#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "engine/server/completions_api.h"
#include "engine/server/generate_api.h"
#include "engine/server/metrics_api.h"
#include "engine/server/status_api.h"
#include "engine/server/tokenize_api.h"

namespace detcheck {
namespace {

/// What is needed to answer.
struct Call {
  const ServedModel& model;
  const ServedRequest& http;
  const HttpPeer& peer;
};

struct Route {
  std::string_view path;
  std::vector<std::string_view> methods;
  std::function<HttpReply(const Call&)> answer;
};

const std::vector<Route>& Routes() {
  static const std::vector<Route> routes = {
      {"/generate",
       {"POST", "PUT"},
       [](const Call& c) { return Generate(c.model, c.http, c.peer); }},
      {"/v1/completions",
       {"POST"},
       [](const Call& c) { return Completions(c.model, c.http, c.peer); }},
      {"/v1/models", {"GET"}, [](const Call& c) { return Models(c.model); }},
      {"/tokenize", {"POST"}, [](const Call& c) { return Tokenize(c.model, c.http); }},
      {"/v1/tokenize", {"POST"}, [](const Call& c) { return Tokenize(c.model, c.http); }},
      {"/detokenize", {"POST"}, [](const Call& c) { return Detokenize(c.model, c.http); }},
      {"/v1/detokenize", {"POST"}, [](const Call& c) { return Detokenize(c.model, c.http); }},
      {"/flush_cache",
       {"GET", "POST"},
       [](const Call& c) { return FlushCache(c.model, c.http, c.peer); }},
      {"/server_info", {"GET"}, [](const Call& c) { return ServerInfo(c.model); }},
      {"/get_server_info", {"GET"}, [](const Call& c) { return ServerInfo(c.model); }},
      {"/model_info", {"GET"}, [](const Call& c) { return ModelInfo(c.model); }},
      {"/get_model_info", {"GET"}, [](const Call& c) { return ModelInfo(c.model); }},
      {"/v1/loads", {"GET"}, [](const Call& c) { return Loads(c.model); }},
      {"/health", {"GET"}, [](const Call& c) { return Health(c.model); }},
      {"/health_generate", {"GET"}, [](const Call& c) { return HealthGenerate(c.model, c.peer); }},
      {"/metrics", {"GET"}, [](const Call& c) { return Metrics(c.model); }},
      {"/version", {"GET"}, [](const Call& c) { return Version(c.model); }},
  };
  return routes;
}

HttpReply Dispatch(const Call& call) {
  for (const Route& route : Routes()) {
    if (route.path != call.http.path) continue;
    for (const std::string_view method : route.methods) {
      const bool is_head = call.http.method == "HEAD" && method == "GET";
      if (method == call.http.method || is_head) return route.answer(call);
    }
    throw ApiError(405, call.http.method + ": not a method of " + call.http.path);
  }
  throw ApiError(404, call.http.path + ": no such end point");
}

const char* ErrorType(int status) {
  if (status == 404) return "NotFoundError";
  return status < 500 ? "BadRequestError" : "InternalServerError";
}

}  // namespace

HttpReply ErrorReply(int status, const std::string& message) {
  const nlohmann::ordered_json body = {
      {"error",
       {{"message", message}, {"type", ErrorType(status)}, {"param", nullptr}, {"code", status}}}};
  HttpReply reply;
  reply.status = status;
  // What a client sent may be part of the message, and may be no UTF-8.
  reply.body = body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return reply;
}

HttpReply AnswerRequest(const ServedModel& model, const ServedRequest& http, const HttpPeer& peer) {
  try {
    return Dispatch({model, http, peer});
  } catch (const ApiError& error) {
    return ErrorReply(error.status(), error.what());
  } catch (const std::exception& error) {
    return ErrorReply(500, error.what());
  }
}

}  // namespace detcheck
