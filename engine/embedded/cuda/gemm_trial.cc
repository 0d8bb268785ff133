#include "engine/embedded/cuda/gemm_trial.h"

#include <algorithm>

#include "engine/embedded/cuda/check.h"

namespace detcheck::cuda {
namespace {

// Elements that keep every row of a table aligned to 256 bytes, as products want their operands.
int64_t Padded(int64_t num_elements) {
  return (num_elements + 127) / 128 * 128;
}

// Copies of w whose bytes together are four times the L2 cache.
int NumCopies(int64_t w_bytes) {
  constexpr int64_t kMaxCopies = 64;
  int device = 0;
  int l2_bytes = 0;
  DETCHECK_CUDA(cudaGetDevice(&device));
  DETCHECK_CUDA(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device));
  return static_cast<int>(std::clamp<int64_t>(4LL * l2_bytes / w_bytes + 1, 1, kMaxCopies));
}

DeviceBuffer Elements(int64_t count, size_t element_bytes) {
  return DeviceBuffer(static_cast<size_t>(count) * element_bytes);
}

}  // namespace

GemmTrial::GemmTrial(const CublasLt& cublas, const GemmShape& shape, int max_m, cudaStream_t stream)
    : cublas_(cublas),
      shape_(shape),
      stream_(stream),
      w_stride_(Padded(shape.n * shape.k)),
      num_copies_(NumCopies(w_stride_ * static_cast<int64_t>(sizeof(__nv_bfloat16)))),
      workspace_(kGemmWorkspaceBytes),
      w_(Elements(num_copies_ * w_stride_, sizeof(__nv_bfloat16))),
      probes_(Elements(kNumProbes * Padded(shape.k), sizeof(__nv_bfloat16))),
      x_(Elements(max_m * shape.k, sizeof(__nv_bfloat16))),
      out_(Elements(max_m * shape.n, sizeof(float))),
      reference_(Elements(kNumProbes * Padded(shape.n), sizeof(float))) {
  FillRandom(num_copies_ * w_stride_, 1, w_.as<__nv_bfloat16>(), stream);
  FillRandom(kNumProbes * Padded(shape.k), 2, probes_.as<__nv_bfloat16>(), stream);
  RepeatRows({probes_.as<__nv_bfloat16>(), kNumProbes, shape.k, Padded(shape.k)}, max_m,
             x_.as<__nv_bfloat16>(), stream);
}

bool GemmTrial::Usable(const Product& product) const {
  GemmProblem problem(ShapeWith(product.output), product.m);
  const std::optional<size_t> bytes = problem.WorkspaceBytes(cublas_, product.algo);
  return bytes && *bytes <= kGemmWorkspaceBytes;
}

bool GemmTrial::LaunchOn(const Product& product, const __nv_bfloat16* x, const __nv_bfloat16* w,
                         void* out) {
  GemmProblem problem(ShapeWith(product.output), product.m);
  const bool taken = problem.Launch(cublas_, product.algo, x, w, out, workspace_.as<void>(),
                                    kGemmWorkspaceBytes, stream_) == CUBLAS_STATUS_SUCCESS;
  if (!taken) cudaGetLastError();  // A refused launch must not be taken for the next one's error.
  return taken;
}

bool GemmTrial::Launch(const cublasLtMatmulAlgo_t& algo, int m) {
  const __nv_bfloat16* w = w_.as<__nv_bfloat16>() + next_copy_ * w_stride_;
  next_copy_ = (next_copy_ + 1) % num_copies_;
  return LaunchOn({algo, shape_.output, m}, x_.as<__nv_bfloat16>(), w, out_.as<void>());
}

bool GemmTrial::SetReference(const cublasLtMatmulAlgo_t& algo) {
  const Product product = {algo, GemmOutput::kFloat32, 1};
  if (!Usable(product)) return false;
  for (int i = 0; i < kNumProbes; ++i) {
    const __nv_bfloat16* x = probes_.as<__nv_bfloat16>() + i * Padded(shape_.k);
    float* out = reference_.as<float>() + i * Padded(shape_.n);
    if (!LaunchOn(product, x, w_.as<__nv_bfloat16>(), out)) return false;
  }
  return true;
}

std::vector<uint32_t> GemmTrial::CountDifferences(std::span<const Product> products) {
  std::vector<uint32_t> counts(products.size());
  if (products.empty()) return counts;
  const size_t counts_bytes = counts.size() * sizeof(uint32_t);
  DeviceBuffer device_counts(counts_bytes);
  DETCHECK_CUDA(cudaMemsetAsync(device_counts.as<void>(), 0, counts_bytes, stream_));
  const RowTable<const float> reference = {reference_.as<float>(), kNumProbes, shape_.n,
                                           Padded(shape_.n)};
  std::vector<size_t> refused;
  for (size_t i = 0; i < products.size(); ++i) {
    const Product& product = products[i];
    const size_t out_bytes = static_cast<size_t>(product.m) * static_cast<size_t>(shape_.n) *
                             ElementBytes(product.output);
    // So that rows which a product leaves out are not those of the product before.
    DETCHECK_CUDA(cudaMemsetAsync(out_.as<void>(), 0xff, out_bytes, stream_));
    if (LaunchOn(product, x_.as<__nv_bfloat16>(), w_.as<__nv_bfloat16>(), out_.as<void>())) {
      cuda::CountDifferences(out_.as<void>(), product.output, product.m, reference,
                             device_counts.as<uint32_t>() + i, stream_);
    } else {
      refused.push_back(i);
    }
  }
  DETCHECK_CUDA(cudaMemcpyAsync(counts.data(), device_counts.as<void>(), counts_bytes,
                                cudaMemcpyDeviceToHost, stream_));
  DETCHECK_CUDA(cudaStreamSynchronize(stream_));
  for (const size_t i : refused) counts[i] = kRefused;
  return counts;
}

}  // namespace detcheck::cuda
