#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/embedded/model_config.h"
#include "engine/embedded/ops.h"

namespace detcheck {

/// Where the tensors of a model come from. Tensors have Hugging Face's names and orientation:
/// "model.embed_tokens.weight" [V, D], "model.layers.3.self_attn.q_proj.weight" [H·E, D], ...
class WeightSource {
 public:
  virtual ~WeightSource() = default;

  /// Writes tensor `name` row-major as elements of `dtype` to `out`, which has room for `shape`
  /// (one or two dimensions, as the model's config has it). Throws Error(kInput) where the tensor
  /// is missing, of another shape, of an element type that cannot be used, or not finite.
  virtual void Read(const std::string& name, const std::vector<int64_t>& shape, DType dtype,
                    void* out) = 0;

  /// How tensor `name` is made, where a device may make it itself with the bits that Read writes.
  virtual std::optional<SyntheticTensor> Recipe(const std::string& /*name*/) const {
    return std::nullopt;
  }

  /// Manifest fields under "model." that identify the weights. May read all of them (digests).
  virtual Manifest Describe() = 0;
};

/// A weight in host memory that it owns, or its recipe.
struct HostWeight {
  DType dtype = DType::kBf16;
  int64_t rows = 0;
  int64_t cols = 0;
  std::unique_ptr<std::byte[]> data;
  std::vector<SyntheticRows> recipe;  ///< Where there is no data.

  HostTensor tensor() const { return {dtype, rows, cols, data.get(), recipe}; }
};

/// The tensors that the model uses, in the config's dtype and with its shapes; L is a layer.
/// Errors: those of WeightSource::Read.
class WeightReader {
 public:
  /// `recipes`: matrices are given as recipes where the source has them. `config` and `source` must
  /// outlive the reader.
  WeightReader(const ModelConfig& config, WeightSource* source, bool recipes = false)
      : config_(config), source_(source), recipes_(recipes) {}

  HostWeight EmbedTokens() const;                 ///< [V, D]
  HostWeight LmHead() const;                      ///< [V, D]; untied models only.
  HostWeight FinalNorm() const;                   ///< [1, D]
  HostWeight InputNorm(int layer) const;          ///< [1, D]
  HostWeight Qkv(int layer) const;                ///< [(H + 2G)·E, D]: rows of q, then k, then v.
  HostWeight QNorm(int layer) const;              ///< [1, E]; models with qk_norm only.
  HostWeight KNorm(int layer) const;              ///< [1, E]; models with qk_norm only.
  HostWeight OutputProjection(int layer) const;   ///< [D, H·E]
  HostWeight PostAttentionNorm(int layer) const;  ///< [1, D]
  HostWeight GateUp(int layer) const;             ///< [2F, D]: rows of gate, then up.
  HostWeight Down(int layer) const;               ///< [D, F]

 private:
  struct RowBlock {
    std::string name;
    int64_t rows;
  };

  HostWeight Stack(const std::vector<RowBlock>& blocks, int64_t cols) const;
  std::vector<SyntheticRows> RecipeOf(const std::vector<RowBlock>& blocks) const;
  HostWeight Vector(const std::string& name, int64_t len) const;

  const ModelConfig& config_;
  WeightSource* source_;
  bool recipes_;
};

}  // namespace detcheck
