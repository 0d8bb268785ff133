#include "engine/server/serve.h"

#include <chrono>
#include <thread>

#include "engine/base/error.h"
#include "engine/embedded/embedded_backend.h"
#include "engine/server/api.h"
#include "engine/server/engine_loop.h"
#include "engine/server/http_server.h"
#include "engine/server/served_model.h"

namespace detcheck {
namespace {

/// How soon a signal, or an engine that failed, is noticed.
constexpr std::chrono::milliseconds kLookAtStop{20};

std::string UrlOf(const std::string& host, int port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return "http://" + (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace

void RequireServe() {}

void Serve(Backend* backend, const ServeOptions& options, const std::atomic<bool>& stop,
           const std::function<void(const std::string& url)>& listening) {
  auto* embedded = dynamic_cast<EmbeddedBackend*>(backend);
  if (embedded == nullptr) {
    throw Error(ErrorCode::kUsage, "serve: the target is a server already");
  }
  ServedModel model;
  model.description = backend->Describe();
  model.engine = &embedded->engine();
  model.name = options.served_model_name.empty() ? model.config().name : options.served_model_name;
  model.version = DETCHECK_VERSION;
  model.options = embedded->options();
  model.codec = MakeTextCodec(model.options.model, model.config());
  EngineLoop loop(&embedded->engine());
  model.loop = &loop;
  model.started_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  HttpServer server({.host = options.host, .port = options.port},
                    [&model](const ServedRequest& http, const HttpPeer& peer) {
                      return AnswerRequest(model, http, peer);
                    });
  listening(UrlOf(options.host, server.port()));
  while (!stop && loop.failure().empty()) std::this_thread::sleep_for(kLookAtStop);
  const std::string failure = loop.failure();
  server.Stop();
  if (!failure.empty()) throw Error(ErrorCode::kDevice, failure);
}

}  // namespace detcheck
