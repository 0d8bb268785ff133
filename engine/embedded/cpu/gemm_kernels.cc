#include "engine/embedded/cpu/gemm_kernels.h"

#include "engine/embedded/cpu/vec.h"

namespace detcheck::cpu::DETCHECK_LEVEL_NS {
namespace {

// The register tile: kMaxRows rows by kTileVecs vectors of columns (a panel has two).
#if defined(DETCHECK_LEVEL_AVX512)
constexpr int kMaxRows = 14;
constexpr int kTileVecs = 2;
constexpr int kPanelsPerRow = 4;
#elif defined(DETCHECK_LEVEL_BASELINE)
constexpr int kMaxRows = 4;
constexpr int kTileVecs = 1;
constexpr int kPanelsPerRow = 1;
#else
constexpr int kMaxRows = 6;
constexpr int kTileVecs = 1;
constexpr int kPanelsPerRow = 2;
#endif

// How far ahead of its use a weight is asked for. The hardware's own prefetching stops at page
// ends.
constexpr int64_t kPrefetchBytes = 2048;

inline void PrefetchLines(const char* p) {
  __builtin_prefetch(p);
  __builtin_prefetch(p + 64);
}

struct Float32Weights {
  static constexpr int64_t kBytesPerK = PanelBytesPerK(WeightFormat::kFloat32);
  template <int kVec>
  static Lanes LoadVec(const char* k) {
    return Load(reinterpret_cast<const float*>(k) + kVec * kLanes);
  }
};

struct Bf16Weights {
  static constexpr int64_t kBytesPerK = PanelBytesPerK(WeightFormat::kBf16);
  template <int kVec>
  static Lanes LoadVec(const char* k) {
    const IntLanes words = BitsOf(Load(reinterpret_cast<const float*>(k)));
    if constexpr (kVec == 0) {
      return FromBits(ShiftLeft<16>(words));
    } else {
      return FromBits(IntAnd(words, IntBroadcast(static_cast<int32_t>(0xffff0000u))));
    }
  }
};

template <class Weights, int kFirstVec, int kVecs>
inline void LoadVecs(const char* k, Lanes* w) {
  w[0] = Weights::template LoadVec<kFirstVec>(k);
  if constexpr (kVecs == 2) w[1] = Weights::template LoadVec<kFirstVec + 1>(k);
}

inline Lanes Rounded(Lanes a, Rounding rounding) {
  switch (rounding) {
    case Rounding::kBf16:
      return RoundBf16(a);
    case Rounding::kF16:
      return RoundF16(a);
    case Rounding::kNone:
      break;
  }
  return a;
}

// Stores the lanes of the vector at column `col` that are among the `cols` wanted.
inline void StoreWanted(float* out, Lanes a, int64_t cols, int64_t col) {
  const int64_t wanted = cols - col;
  if (wanted >= kLanes) {
    Store(out + col, a);
  } else if (wanted > 0) {
    StorePartial(out + col, a, static_cast<int>(wanted));
  }
}

// kRows rows times kVecs vectors of each of kPanels panels, from vector kFirstVec of a panel on.
template <class Weights, int kRows, int kPanels, int kFirstVec, int kVecs>
void Chains(const GemmTile& tile) {
  constexpr int kAcross = kPanels * kVecs;
  Lanes sum[kRows][kAcross];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kAcross; ++v) {
      const int col = (kFirstVec + v) * kLanes;
      sum[r][v] = tile.sums == nullptr ? Zero() : Load(tile.sums + r * kPanelCols + col);
    }
  }
  const char* w = static_cast<const char*>(tile.w);
  const float* x = tile.x;
  const char* prefetch = tile.prefetch;
  for (int64_t k = 0; k < tile.k_len; ++k) {
    Lanes weights[kAcross];
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      const char* panel = w + p * tile.panel_bytes;
      LoadVecs<Weights, kFirstVec, kVecs>(panel, weights + p * kVecs);
      if constexpr (kPanels > 1) PrefetchLines(panel + kPrefetchBytes);
    }
    if constexpr (kPanels == 1) PrefetchLines(prefetch);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Lanes value = Broadcast(x[r]);
#pragma GCC unroll 8
      for (int v = 0; v < kAcross; ++v) sum[r][v] = Fma(value, weights[v], sum[r][v]);
    }
    w += Weights::kBytesPerK;
    x += kRows;
    prefetch += tile.prefetch_step;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kAcross; ++v) {
      const int col = (v / kVecs) * kPanelCols + (kFirstVec + v % kVecs) * kLanes;
      StoreWanted(tile.out + r * tile.out_stride, Rounded(sum[r][v], tile.rounding), tile.cols,
                  col);
    }
  }
}

template <class Weights, int kRows>
void OnePanel(const GemmTile& tile) {
  if constexpr (kTileVecs == 2) {
    Chains<Weights, kRows, 1, 0, 2>(tile);
  } else {
    Chains<Weights, kRows, 1, 0, 1>(tile);
    Chains<Weights, kRows, 1, 1, 1>(tile);
  }
}

// Calls OnePanel for the run-time number of rows.
template <class Weights, int kRows = kMaxRows>
void OnePanelOfRows(const GemmTile& tile, int rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return OnePanelOfRows<Weights, kRows - 1>(tile, rows);
  }
  OnePanel<Weights, kRows>(tile);
}

void Tile(const GemmTile& tile, int rows, WeightFormat format) {
  if (format == WeightFormat::kFloat32) {
    OnePanelOfRows<Float32Weights>(tile, rows);
  } else {
    OnePanelOfRows<Bf16Weights>(tile, rows);
  }
}

template <class Weights>
void RowOfPanels(GemmTile tile) {
  constexpr int64_t kColsPerPass = kPanelsPerRow * kPanelCols;
  while (tile.cols > 0) {
    const bool whole_pass = tile.cols > kColsPerPass - kPanelCols;
    if (whole_pass) {
      Chains<Weights, 1, kPanelsPerRow, 0, 2>(tile);
    } else {
      tile.prefetch = static_cast<const char*>(tile.w) + kPrefetchBytes;
      tile.prefetch_step = Weights::kBytesPerK;
      Chains<Weights, 1, 1, 0, 2>(tile);
    }
    const int panels = whole_pass ? kPanelsPerRow : 1;
    tile.w = static_cast<const char*>(tile.w) + panels * tile.panel_bytes;
    tile.out += panels * kPanelCols;
    tile.cols -= panels * kPanelCols;
  }
}

void Row(const GemmTile& tile, WeightFormat format) {
  if (format == WeightFormat::kFloat32) {
    RowOfPanels<Float32Weights>(tile);
  } else {
    RowOfPanels<Bf16Weights>(tile);
  }
}

void WidenPanel(const void* bf16_panel, float* panel, int64_t k_len) {
  const char* w = static_cast<const char*>(bf16_panel);
  for (int64_t k = 0; k < k_len; ++k) {
    __builtin_prefetch(w + kPrefetchBytes);
    Store(panel, Bf16Weights::LoadVec<0>(w));
    Store(panel + kLanes, Bf16Weights::LoadVec<1>(w));
    w += Bf16Weights::kBytesPerK;
    panel += kPanelCols;
  }
}

typedef float Four __attribute__((vector_size(16)));

inline Four LoadFour(const float* p) {
  Four v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}
inline void StoreFour(float* p, Four v) {
  __builtin_memcpy(p, &v, sizeof(v));
}

// Four rows of x times four k.
inline void TransposeFour(const float* x, int64_t x_stride, float* out, int64_t out_stride) {
  const Four a = LoadFour(x);
  const Four b = LoadFour(x + x_stride);
  const Four c = LoadFour(x + 2 * x_stride);
  const Four d = LoadFour(x + 3 * x_stride);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  StoreFour(out, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
  StoreFour(out + out_stride, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
  StoreFour(out + 2 * out_stride, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
  StoreFour(out + 3 * out_stride, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

void Transpose(const float* x, int64_t x_stride, int rows, int64_t k_len, float* out) {
  const int64_t whole_k = rows >= 4 ? k_len / 4 * 4 : 0;
  for (int64_t k = 0; k < whole_k; k += 4) {
    // The last four rows may overlap the four before them.
    for (int r = 0; r < rows; r += 4) {
      const int first = r + 4 <= rows ? r : rows - 4;
      TransposeFour(x + first * x_stride + k, x_stride, out + k * rows + first, rows);
    }
  }
  for (int64_t k = whole_k; k < k_len; ++k) {
    for (int r = 0; r < rows; ++r) out[k * rows + r] = x[r * x_stride + k];
  }
}

}  // namespace

extern const GemmKernels kGemmKernels;
const GemmKernels kGemmKernels = {
    .max_rows = kMaxRows,
    .panels_per_row = kPanelsPerRow,
    .tile = Tile,
    .row = Row,
    .widen_panel = WidenPanel,
    .transpose = Transpose,
};

}  // namespace detcheck::cpu::DETCHECK_LEVEL_NS
