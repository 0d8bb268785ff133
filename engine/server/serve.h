#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "engine/backend.h"

namespace detcheck {

struct ServeOptions {
  std::string host = "127.0.0.1";
  int port = 30000;               ///< 0: any free one.
  std::string served_model_name;  ///< Empty: the model's own.
};

/// Whether this build can serve. Error(kUsage), one line, says what is missing.
void RequireServe();

/// Serves a backend's embedded engine over HTTP until `stop` turns true; what runs then is
/// answered to its end. `listening` is called once with the URL, when requests are answered.
/// Throws Error: kUsage where the build cannot serve or the backend is no embedded engine, kTarget
/// where the port cannot be had, kDevice where the engine fails.
void Serve(Backend* backend, const ServeOptions& options, const std::atomic<bool>& stop,
           const std::function<void(const std::string& url)>& listening);

}  // namespace detcheck
