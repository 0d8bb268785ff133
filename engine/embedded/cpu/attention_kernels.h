#pragma once

#include <cstdint>

namespace detcheck::cpu {

/// Keys that the KV cache keeps together: one vector of every key dimension holds a group of them.
inline constexpr int kKeyGroup = 16;
/// Keys between two rescalings of a running softmax (B of the design).
inline constexpr int kKeyBlock = 64;
/// Keys of one softmax in deterministic mode (S of the design); a multiple of kKeyBlock.
inline constexpr int kKeySplit = 512;

enum class KvElement { kBf16, kF16, kF32 };

/// Head dimension rounded up to whole vectors: the width of a row of V and of an output state.
constexpr int PaddedHeadDim(int head_dim) {
  return (head_dim + 15) / 16 * 16;
}

/// Floats of one row's state: maximum (first of 16), sum by lane (16), output (padded head_dim).
constexpr int StateSize(int head_dim) {
  return 32 + PaddedHeadDim(head_dim);
}

/// Floats of scratch that `attend` needs: one key block of K and V, widened.
constexpr int KeyBlockScratch(int head_dim) {
  return kKeyBlock * (head_dim + PaddedHeadDim(head_dim));
}

/// The keys and values of one layer and KV head. Slots are grouped by kKeyGroup:
/// k is [num_slots / 16][head_dim][16], v is [num_slots][padded head_dim], the padding zero.
struct KvPlane {
  void* k = nullptr;
  void* v = nullptr;
  KvElement element = KvElement::kBf16;
  int head_dim = 0;
};

/// Where a sequence's keys lie, by position.
struct KeyPlaces {
  const int32_t* slots = nullptr;  ///< [num_keys]
  /// [ceil(num_keys / 16)]: the cache group that holds these 16 positions in order, or -1.
  const int32_t* groups = nullptr;
  int num_keys = 0;
};

/// Queries that share a KV head: q is [num_rows, head_dim]; row r sees keys 0 .. num_keys[r] - 1.
struct QueryRows {
  const float* q = nullptr;
  const int32_t* num_keys = nullptr;  ///< Ascending.
  int num_rows = 0;
};

/// Attention kernels of one SIMD level.
struct AttentionKernels {
  /// Writes k[head_dim] and v[head_dim], rounded to the cache's element, to `slot`.
  void (*write_kv)(const KvPlane& plane, int slot, const float* k, const float* v);

  /// states[r] = softmax of the keys [first_key, end_key) that row r sees, not yet divided by its
  /// sum; `first_key` is a multiple of kKeyBlock. Rows that see none of them are left untouched.
  /// `scratch` holds KeyBlockScratch floats.
  /// Order: per row, blocks of kKeyBlock keys ascending from `first_key`. In a block: each score is
  /// one FMA chain over head_dim ascending, times 1 / sqrt(head_dim); the maximum is raised, sum
  /// and output are always multiplied by exp(old - new); the weights' sum has a fixed lane per key;
  /// the output is one FMA chain over exactly the keys that the row sees, ascending. Which rows
  /// share a tile, and whether K and V are read from the cache or from scratch, changes no
  /// operation of a row. Twin: none yet on other devices.
  void (*attend)(const KvPlane& plane, const KeyPlaces& places, const QueryRows& rows,
                 int first_key, int end_key, float* scratch, float* states);

  /// total = total and part together. Order: element-wise; callers merge splits left to right.
  void (*merge)(const float* part, float* total, int head_dim);

  /// out[head_dim] = output / sum. Order: the lanes of the sum as the tree of ReduceAdd.
  void (*finish)(const float* total, float* out, int head_dim);

  /// k_out[head_dim, stride] and v_out[num_keys, head_dim] in float32, keys 0 .. num_keys - 1;
  /// stride >= num_keys rounded up to 16; what k_out holds beyond num_keys is unspecified.
  void (*gather)(const KvPlane& plane, const KeyPlaces& places, int num_keys, int64_t stride,
                 float* k_out, float* v_out);
};

}  // namespace detcheck::cpu
