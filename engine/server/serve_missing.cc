#include "engine/base/error.h"
#include "engine/server/serve.h"

namespace detcheck {

void RequireServe() {
  throw Error(ErrorCode::kUsage,
              "serve: this build has no HTTP server; install libcpp-httplib-dev and build again");
}

void Serve(Backend* /*backend*/, const ServeOptions& /*options*/, const std::atomic<bool>& /*stop*/,
           const std::function<void(const std::string& url)>& /*listening*/) {
  RequireServe();
}

}  // namespace detcheck
