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

// Lanes of the vector that starts at column `col` that are wanted, 0..16.
inline int WantedLanes(int64_t cols, int64_t col) {
  const int64_t wanted = cols - col;
  return wanted >= kLanes ? kLanes : (wanted > 0 ? static_cast<int>(wanted) : 0);
}

inline Lanes LoadSums(const float* p, int wanted) {
  return wanted == kLanes ? Load(p) : LoadPartial(p, wanted);
}

inline void StoreSums(float* p, Lanes sums, int wanted) {
  if (wanted == kLanes) {
    Store(p, sums);
  } else {
    StorePartial(p, sums, wanted);
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
      const int64_t col = (v / kVecs) * kPanelCols + (kFirstVec + v % kVecs) * kLanes;
      const float* out = tile.out + r * tile.out_stride + col;
      sum[r][v] = tile.resume ? LoadSums(out, WantedLanes(tile.cols, col)) : Zero();
    }
  }
  const char* w = static_cast<const char*>(tile.w);
  const float* x = tile.x;
  for (int64_t k = 0; k < tile.k_len; ++k) {
    Lanes weights[kAcross];
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      const char* panel = w + p * tile.panel_bytes;
      LoadVecs<Weights, kFirstVec, kVecs>(panel, weights + p * kVecs);
      __builtin_prefetch(panel + kPrefetchBytes);
      if constexpr (Weights::kBytesPerK == 128) __builtin_prefetch(panel + kPrefetchBytes + 64);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Lanes value = Broadcast(x[r]);
#pragma GCC unroll 8
      for (int v = 0; v < kAcross; ++v) sum[r][v] = Fma(value, weights[v], sum[r][v]);
    }
    w += Weights::kBytesPerK;
    x += kRows;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kAcross; ++v) {
      const int64_t col = (v / kVecs) * kPanelCols + (kFirstVec + v % kVecs) * kLanes;
      float* out = tile.out + r * tile.out_stride + col;
      StoreSums(out, Rounded(sum[r][v], tile.rounding), WantedLanes(tile.cols, col));
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

void Transpose(const float* x, int64_t x_stride, int rows, int64_t k_len, float* out) {
  for (int r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < k_len; ++k) out[k * rows + r] = x[r * x_stride + k];
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
