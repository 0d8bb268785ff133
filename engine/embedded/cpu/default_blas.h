#pragma once

#include <cstdint>
#include <string>

namespace detcheck::cpu {

/// OpenBLAS, loaded when default mode first needs it: the only door to it. Matrices are row major;
/// `*_stride` is the distance of rows in floats.
///
/// Releases of OpenBLAS fall back to the oldest kernels on processors newer than themselves (0.3.21
/// runs SSE3 code on Emerald Rapids, at a fifth of its speed), so it is told which kernels to take:
/// SkylakeX where there is AVX-512, Haswell where there is AVX2, unless the environment variable
/// OPENBLAS_CORETYPE says otherwise. Elsewhere the choice is its own.
class Blas {
 public:
  /// Throws Error(kUnsupported) where the library cannot be loaded.
  static const Blas& Get();

  /// out[m, n] = x[m, k] · w[n, k]ᵀ, no gaps between rows: sgemv for one row, else sgemm.
  void TimesTransposed(int m, int n, int k, const float* x, const float* w, float* out) const;

  /// c[m, n] = a[m, k] · b[k, n] by sgemm.
  void Times(int m, int n, int k, const float* a, int a_stride, const float* b, int b_stride,
             float* c, int c_stride) const;

  /// Of the whole process: OpenBLAS has one pool.
  void SetNumThreads(int num_threads) const;

  std::string Config() const;  ///< Version and build options.
  std::string Core() const;    ///< The kernels in use, e.g. "SkylakeX".

 private:
  struct Functions;
  explicit Blas(const Functions& functions) : functions_(functions) {}

  const Functions& functions_;
};

}  // namespace detcheck::cpu
