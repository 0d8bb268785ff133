#pragma once

#include <optional>
#include <string>

#include "engine/embedded/cuda/gemm_class.h"

namespace detcheck::cuda {

/// What a choice of configurations holds for. Anything else about the machine may change.
struct GemmClassKey {
  std::string gpu;  ///< Its name.
  int num_sms = 0;
  int driver_version = 0;  ///< As cudaDriverGetVersion has it.
  std::string cublaslt_version;
  GemmShape shape;
  int max_m = 0;
};

/// For the current device.
GemmClassKey MakeGemmClassKey(const GemmShape& shape, int max_m);

/// The file of this key: $XDG_CACHE_HOME/detcheck/gemm-….json, else below ~/.cache. Empty where the
/// environment names neither: then nothing is kept.
std::string GemmClassPath(const GemmClassKey& key);

/// The class that was stored under this key; nothing where there is no file, or where it is
/// unreadable, damaged, of another key or of another version of this format. Its configurations
/// must be verified before use: a file is no evidence.
std::optional<GemmClass> LoadGemmClass(const GemmClassKey& key);

/// Writes the file beside its place and renames it, so that readers see all or nothing. The cache
/// saves time only: where it cannot be written, it is left.
void StoreGemmClass(const GemmClassKey& key, const GemmClass& choice);

}  // namespace detcheck::cuda
