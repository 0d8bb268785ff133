// Included by attention_kernels.cc only: one block of keys against a tile of query rows.
#include "engine/embedded/cpu/attention_kernels.h"
#include "engine/embedded/cpu/vec.h"
#include "engine/embedded/cpu/vec_math.h"

namespace detcheck::cpu::DETCHECK_LEVEL_NS {
namespace {

struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

inline Lanes Widen(const float* p) {
  return Load(p);
}
inline Lanes Widen(const Bf16* p) {
  return LoadBf16(&p->bits);
}
inline Lanes Widen(const F16* p) {
  return LoadF16(&p->bits);
}
inline void Narrow(float* p, Lanes a) {
  Store(p, a);
}
inline void Narrow(Bf16* p, Lanes a) {
  StoreBf16(&p->bits, a);
}
inline void Narrow(F16* p, Lanes a) {
  StoreF16(&p->bits, a);
}

// Places within a row's state.
constexpr int kStateSum = 16;
constexpr int kStateOut = 32;

// Rows of a register tile, and how many of its vectors fit in registers beside them.
#if defined(DETCHECK_LEVEL_AVX512)
constexpr int kMaxRows = 6;
constexpr int kAccumulators = 24;
#elif defined(DETCHECK_LEVEL_BASELINE)
constexpr int kMaxRows = 2;
constexpr int kAccumulators = 2;
#else
constexpr int kMaxRows = 6;
constexpr int kAccumulators = 6;
#endif

constexpr int VecsFor(int rows) {
  return kAccumulators / rows >= 4 ? 4 : kAccumulators / rows >= 2 ? 2 : 1;
}

constexpr int kGroupsPerBlock = kKeyBlock / kKeyGroup;

// Up to kKeyBlock keys by group: k[j] is [head_dim][16], v[j] is [16][padded head_dim].
template <typename T>
struct KeyBlock {
  const T* k[kGroupsPerBlock];
  const T* v[kGroupsPerBlock];
};

struct Tile {
  const QueryRows& rows;
  int head_dim;
  int first_key;
  int num_keys;  // Of the block, 1 .. kKeyBlock.
  float* states;

  int VisibleKeys(int row) const {
    const int n = rows.num_keys[row] - first_key;
    return n < num_keys ? n : num_keys;
  }
};

inline void Clear(float* state, int state_size) {
  for (int i = 0; i < state_size; i += kLanes) Store(state + i, Zero());
  state[0] = -__builtin_inff();
}

// acc[r][v] = a[r][0] b[0][v] + a[r][1] b[1][v] + ... , n FMAs in ascending order onto acc.
template <int kRows, int kVecs, typename T>
[[gnu::always_inline]] inline void Chain(const float* a, int64_t a_stride,
                                         const T* const (&b)[kVecs], int64_t b_stride, int n,
                                         Lanes (&acc)[kRows][kVecs]) {
  for (int i = 0; i < n; ++i) {
    Lanes column[kVecs];
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) column[v] = Widen(b[v] + i * b_stride);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Lanes x = Broadcast(a[r * a_stride + i]);
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v) acc[r][v] = Fma(x, column[v], acc[r][v]);
    }
  }
}

// scores[kRows][kKeyBlock] = q · k / sqrt(head_dim), by kVecs groups at a time.
template <int kRows, typename T>
inline void Score(const float* q, int head_dim, const KeyBlock<T>& block, int num_keys,
                  float* scores) {
  constexpr int kVecs = VecsFor(kRows);
  const Lanes scale = Broadcast(1.0f / __builtin_sqrtf(static_cast<float>(head_dim)));
  for (int j = 0; j * kKeyGroup < num_keys; j += kVecs) {
    const T* k[kVecs];
    Lanes acc[kRows][kVecs];
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) k[v] = block.k[j + v];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v) acc[r][v] = Zero();
    }
    Chain<kRows, kVecs>(q, head_dim, k, kKeyGroup, head_dim, acc);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v) {
        Store(scores + r * kKeyBlock + (j + v) * kKeyGroup, Mul(acc[r][v], scale));
      }
    }
  }
}

// Turns the scores of a row, kVecs vectors of them the last of which has `last_lanes` keys, into
// weights, raises the row's maximum and gives old - new maximum. Lanes without a key weigh 0.
template <int kVecs>
inline float RaiseMaxOver(float* state, int last_lanes, float* scores) {
  alignas(64) static constexpr float kLane[kLanes] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                      8, 9, 10, 11, 12, 13, 14, 15};
  Lanes s[kVecs];
#pragma GCC unroll 4
  for (int j = 0; j < kVecs; ++j) s[j] = Load(scores + j * kLanes);
  const Mask has_key = Less(Load(kLane), Broadcast(static_cast<float>(last_lanes)));
  s[kVecs - 1] = Select(has_key, s[kVecs - 1], Broadcast(-__builtin_inff()));
  Lanes max = s[0];
#pragma GCC unroll 4
  for (int j = 1; j < kVecs; ++j) max = Max(max, s[j]);
  const float block_max = ReduceMax(max);
  const float old_max = state[0];
  const float new_max = block_max > old_max ? block_max : old_max;
  const Lanes subtract = Broadcast(new_max);
#pragma GCC unroll 4
  for (int j = 0; j < kVecs; ++j) Store(scores + j * kLanes, Exp(Sub(s[j], subtract)));
#pragma GCC unroll 4
  for (int j = kVecs; j < kGroupsPerBlock; ++j) Store(scores + j * kLanes, Zero());
  state[0] = new_max;
  return old_max - new_max;
}

// The same for a row that sees `num_keys` keys of the block.
inline float RaiseMax(float* state, int num_keys, float* scores) {
  const int before_last = (num_keys - 1) / kLanes;
  const int last_lanes = num_keys - before_last * kLanes;
  switch (before_last) {
    case 0:
      return RaiseMaxOver<1>(state, last_lanes, scores);
    case 1:
      return RaiseMaxOver<2>(state, last_lanes, scores);
    case 2:
      return RaiseMaxOver<3>(state, last_lanes, scores);
    default:
      return RaiseMaxOver<4>(state, last_lanes, scores);
  }
}

inline void AddWeights(float* state, const float* weights, Lanes keep) {
  const Lanes sum = Add(Add(Load(weights), Load(weights + kLanes)),
                        Add(Load(weights + 2 * kLanes), Load(weights + 3 * kLanes)));
  Store(state + kStateSum, Fma(Load(state + kStateSum), keep, sum));
}

// out[r] = out[r] · keep[r] + weights[r] · v over keys [first, end) of the block, for kVecs vectors
// of the output from element e on.
template <int kRows, int kVecs, typename T>
inline void WeighVectors(const KeyBlock<T>& block, const float* weights, const float* keep,
                         int padded, int e, int first, int end, int state_size, float* states) {
  Lanes acc[kRows][kVecs];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    const Lanes factor = Broadcast(keep[r]);
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) {
      acc[r][v] = Mul(Load(states + r * state_size + kStateOut + e + v * kLanes), factor);
    }
  }
  for (int key = first; key < end;) {
    const int group_end = (key / kKeyGroup + 1) * kKeyGroup;
    const int n = (group_end < end ? group_end : end) - key;
    const T* row = block.v[key / kKeyGroup] + (key % kKeyGroup) * padded + e;
    const T* columns[kVecs];
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) columns[v] = row + v * kLanes;
    Chain<kRows, kVecs>(weights + key, kKeyBlock, columns, padded, n, acc);
    key += n;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) {
      Store(states + r * state_size + kStateOut + e + v * kLanes, acc[r][v]);
    }
  }
}

template <int kRows, typename T>
inline void Weigh(const KeyBlock<T>& block, const float* weights, const float* keep, int padded,
                  int first, int end, float* states) {
  constexpr int kVecs = VecsFor(kRows);
  const int state_size = kStateOut + padded;
  int e = 0;
  for (; e + kVecs * kLanes <= padded; e += kVecs * kLanes) {
    WeighVectors<kRows, kVecs>(block, weights, keep, padded, e, first, end, state_size, states);
  }
  if constexpr (kVecs == 4) {
    for (; e + 2 * kLanes <= padded; e += 2 * kLanes) {
      WeighVectors<kRows, 2>(block, weights, keep, padded, e, first, end, state_size, states);
    }
  }
  for (; e < padded; e += kLanes) {
    WeighVectors<kRows, 1>(block, weights, keep, padded, e, first, end, state_size, states);
  }
}

// One block against rows row .. row + kRows - 1, all of which see at least its first key.
template <int kRows, typename T>
void RunRows(const Tile& tile, const KeyBlock<T>& block, int row) {
  const int padded = PaddedHeadDim(tile.head_dim);
  const int state_size = StateSize(tile.head_dim);
  float* states = tile.states + row * state_size;
  alignas(64) float weights[kRows * kKeyBlock];
  alignas(64) float keep[kLanes] = {};
  Score<kRows>(tile.rows.q + row * tile.head_dim, tile.head_dim, block,
               tile.VisibleKeys(row + kRows - 1), weights);
  for (int r = 0; r < kRows; ++r) {
    keep[r] = RaiseMax(states + r * state_size, tile.VisibleKeys(row + r), weights + r * kKeyBlock);
  }
  Store(keep, Exp(Load(keep)));
  for (int r = 0; r < kRows; ++r) {
    AddWeights(states + r * state_size, weights + r * kKeyBlock, Broadcast(keep[r]));
  }
  // The keys that all rows see together, then each row's own rest.
  const int common = tile.VisibleKeys(row);
  Weigh<kRows>(block, weights, keep, padded, 0, common, states);
  const float one = 1.0f;
  for (int r = 1; r < kRows; ++r) {
    const int end = tile.VisibleKeys(row + r);
    if (end == common) continue;
    Weigh<1>(block, weights + r * kKeyBlock, &one, padded, common, end, states + r * state_size);
  }
}

template <typename T>
void RunBlock(const Tile& tile, const KeyBlock<T>& block, int first_row) {
  int row = first_row;
  const int end = tile.rows.num_rows;
  for (; row + kMaxRows <= end; row += kMaxRows) RunRows<kMaxRows>(tile, block, row);
  switch (end - row) {
#if !defined(DETCHECK_LEVEL_BASELINE)
    case 5:
      return RunRows<5>(tile, block, row);
    case 4:
      return RunRows<4>(tile, block, row);
    case 3:
      return RunRows<3>(tile, block, row);
    case 2:
      return RunRows<2>(tile, block, row);
#endif
    case 1:
      return RunRows<1>(tile, block, row);
    default:
      return;
  }
}

}  // namespace
}  // namespace detcheck::cpu::DETCHECK_LEVEL_NS
