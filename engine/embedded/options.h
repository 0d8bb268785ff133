#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace detcheck {

/// Element type of weights, activations between operations, and KV cache.
enum class DType { kBf16, kF16, kF32 };

/// Settings of the embedded engine; names as on the command line.
struct EngineOptions {
  std::string model = "synthetic:tiny";  ///< "synthetic:NAME", or a Hugging Face directory.
  bool deterministic = false;            ///< --enable-deterministic-inference
  bool radix_cache = true;               ///< off by --disable-radix-cache
  int page_size = 16;                    ///< Tokens of a KV page, >= 1.
  int chunked_prefill_size = 256;        ///< Most prefill tokens of one engine step, >= 1.
  int max_running_requests = 128;        ///< Most requests in one engine step, >= 1.
  int max_total_tokens = 0;              ///< KV pool, tokens; 0: chosen from the model.
  std::optional<DType> dtype;            ///< Absent: the model's own (synthetic: bf16).
  uint64_t random_seed = 42;             ///< Weights of synthetic models.
  int num_threads = 0;                   ///< 0: as many as the machine has cores.
  /// One of the device's names for its attention kernels; "auto": its default.
  std::string attention_backend = "auto";
  bool cuda_graph = true;                ///< off by --disable-cuda-graph; CUDA only
  /// "" : the best that the processor has; else "baseline", "avx2", "avx512" or "neon".
  std::string simd_level;

  bool operator==(const EngineOptions&) const = default;
};

}  // namespace detcheck
