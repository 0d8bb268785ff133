#include "engine/embedded/cpu/default_blas.h"

#include <cblas.h>
#include <dlfcn.h>

#include <cstdlib>

#include "engine/base/error.h"
#include "engine/embedded/cpu/dispatch.h"

#if defined(__SANITIZE_THREAD__)
// OpenBLAS is not instrumented, so its own synchronisation cannot be seen.
extern "C" const char* __tsan_default_suppressions() {
  return "race:libopenblas.so";
}
#endif

namespace detcheck::cpu {
namespace {

constexpr const char* kLibrary = "libopenblas.so.0";
constexpr const char* kCoreVariable = "OPENBLAS_CORETYPE";

// OpenBLAS's name of the kernels that suit this processor; null: its own choice.
const char* SuitableCore() {
  switch (DetectSimdLevel()) {
    case SimdLevel::kAvx512:
      return "SkylakeX";
    case SimdLevel::kAvx2:
      return "Haswell";
    case SimdLevel::kBaseline:
    case SimdLevel::kNeon:
      break;
  }
  return nullptr;
}

// OpenBLAS reads the variable while it is being loaded, and never again.
void* LoadLibrary() {
  const char* core = std::getenv(kCoreVariable) == nullptr ? SuitableCore() : nullptr;
  if (core != nullptr) setenv(kCoreVariable, core, 1);
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  const char* reason = library == nullptr ? dlerror() : nullptr;
  if (core != nullptr) unsetenv(kCoreVariable);
  if (library == nullptr) {
    throw Error(ErrorCode::kUnsupported,
                std::string("default mode on the CPU: OpenBLAS cannot be loaded: ") + reason);
  }
  return library;
}

template <typename Function>
Function* Find(void* library, const char* name) {
  void* address = dlsym(library, name);
  if (address == nullptr) {
    throw Error(ErrorCode::kUnsupported,
                std::string("default mode on the CPU: ") + kLibrary + " has no function " + name);
  }
  return reinterpret_cast<Function*>(address);
}

}  // namespace

struct Blas::Functions {
  explicit Functions(void* library)
      : sgemm(Find<decltype(cblas_sgemm)>(library, "cblas_sgemm")),
        sgemv(Find<decltype(cblas_sgemv)>(library, "cblas_sgemv")),
        set_num_threads(
            Find<decltype(openblas_set_num_threads)>(library, "openblas_set_num_threads")),
        get_config(Find<decltype(openblas_get_config)>(library, "openblas_get_config")),
        get_corename(Find<decltype(openblas_get_corename)>(library, "openblas_get_corename")) {}

  decltype(cblas_sgemm)* sgemm;
  decltype(cblas_sgemv)* sgemv;
  decltype(openblas_set_num_threads)* set_num_threads;
  decltype(openblas_get_config)* get_config;
  decltype(openblas_get_corename)* get_corename;
};

const Blas& Blas::Get() {
  static const Functions functions(LoadLibrary());
  static const Blas blas(functions);
  return blas;
}

void Blas::TimesTransposed(int m, int n, int k, const float* x, const float* w, float* out) const {
  if (m == 1) {
    functions_.sgemv(CblasRowMajor, CblasNoTrans, n, k, 1.0f, w, k, x, 1, 0.0f, out, 1);
  } else {
    functions_.sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1.0f, x, k, w, k, 0.0f, out,
                     n);
  }
}

void Blas::Times(int m, int n, int k, const float* a, int a_stride, const float* b, int b_stride,
                 float* c, int c_stride) const {
  functions_.sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f, a, a_stride, b,
                   b_stride, 0.0f, c, c_stride);
}

void Blas::SetNumThreads(int num_threads) const {
  functions_.set_num_threads(num_threads);
}
std::string Blas::Config() const {
  return functions_.get_config();
}
std::string Blas::Core() const {
  return functions_.get_corename();
}

}  // namespace detcheck::cpu
