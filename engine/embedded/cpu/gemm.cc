#include "engine/embedded/cpu/gemm.h"

#include <algorithm>

namespace detcheck::cpu {
namespace {

constexpr int64_t kBlockK = 256;      // A float32 panel of this depth (32 KiB) stays in L1.
constexpr int64_t kChunkRows = 1024;  // X[kChunkRows, kBlockK] (1 MiB) stays in L2.
constexpr int64_t kMaxTaskPanels = 8;
constexpr int64_t kTasksPerThread = 4;  // Enough that one slow task does not leave others idle.

int64_t CeilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// X cut into tiles of nearly equal numbers of rows, none above the most that a kernel takes.
struct RowTiles {
  RowTiles(int64_t rows, int64_t max_rows) : num_rows(rows), num_tiles(CeilDiv(rows, max_rows)) {}
  int64_t Begin(int64_t tile) const { return tile * num_rows / num_tiles; }
  int Rows(int64_t tile) const { return static_cast<int>(Begin(tile + 1) - Begin(tile)); }

  int64_t num_rows;
  int64_t num_tiles;
};

// One call of Gemm. X is first transposed tile by tile, so that kernels read it in one stream:
// x_tiles holds tile t as [K][rows of t] from Begin(t) * K on.
class Product {
 public:
  Product(const KernelTable& kernels, ThreadPool& pool, const float* x, int64_t num_rows,
          const PackedMatrix& w, Rounding rounding, float* out, float* x_tiles)
      : kernels_(kernels.gemm),
        pool_(pool),
        x_(x),
        w_(w),
        rounding_(rounding),
        out_(out),
        x_tiles_(x_tiles),
        tiles_(num_rows, kernels_.max_rows) {}

  void Run() {
    if (tiles_.num_rows == 1) return RunRow();
    Transpose();
    const int64_t chunk_tiles = kChunkRows / kernels_.max_rows;
    const int64_t num_chunks = CeilDiv(tiles_.num_tiles, chunk_tiles);
    const int64_t wanted_tasks = kTasksPerThread * pool_.num_threads();
    const int64_t task_panels =
        std::clamp(w_.num_panels() * num_chunks / wanted_tasks, int64_t{1}, kMaxTaskPanels);
    const int64_t num_groups = CeilDiv(w_.num_panels(), task_panels);
    pool_.ParallelFor(num_groups * num_chunks, [&](int64_t task) {
      const int64_t group = task % num_groups;
      const int64_t chunk = task / num_groups;
      const int64_t end_panel = std::min((group + 1) * task_panels, w_.num_panels());
      const int64_t end_tile = std::min((chunk + 1) * chunk_tiles, tiles_.num_tiles);
      RunBlock(group * task_panels, end_panel, chunk * chunk_tiles, end_tile);
    });
  }

 private:
  // The only row: no transposing, and panels go through several at a time.
  void RunRow() {
    const int64_t task_panels = kernels_.panels_per_row;
    pool_.ParallelFor(CeilDiv(w_.num_panels(), task_panels), [&](int64_t task) {
      GemmTile tile = TileAt(task * task_panels, 0, w_.num_cols());
      tile.x = x_;
      tile.out = out_ + task * task_panels * kPanelCols;
      tile.cols = std::min(task_panels * kPanelCols, tile.cols);
      kernels_.row(tile, w_.format());
    });
  }

  void Transpose() {
    pool_.ParallelFor(tiles_.num_tiles, [&](int64_t tile) {
      const int64_t offset = tiles_.Begin(tile) * w_.num_cols();
      const int rows = tiles_.Rows(tile);
      for (int64_t k = 0; k < w_.num_cols(); k += kBlockK) {
        const int64_t k_len = std::min(kBlockK, w_.num_cols() - k);
        kernels_.transpose(x_ + offset + k, w_.num_cols(), rows, k_len,
                           x_tiles_ + offset + k * rows);
      }
    });
  }

  // A block of panels by tiles, k block after k block; sums wait in `out` between the blocks.
  void RunBlock(int64_t panel_begin, int64_t panel_end, int64_t tile_begin, int64_t tile_end) {
    alignas(64) float wide[kBlockK * kPanelCols];
    const bool widen = w_.format() == WeightFormat::kBf16 && tile_end - tile_begin > 1;
    for (int64_t k = 0; k < w_.num_cols(); k += kBlockK) {
      const int64_t k_len = std::min(kBlockK, w_.num_cols() - k);
      for (int64_t panel = panel_begin; panel < panel_end; ++panel) {
        GemmTile tile = TileAt(panel, k, k_len);
        if (widen) {
          kernels_.widen_panel(tile.w, wide, k_len);
          tile.w = wide;
        }
        for (int64_t t = tile_begin; t < tile_end; ++t) {
          const int rows = tiles_.Rows(t);
          tile.x = x_tiles_ + tiles_.Begin(t) * w_.num_cols() + k * rows;
          tile.out = out_ + tiles_.Begin(t) * w_.num_rows() + panel * kPanelCols;
          kernels_.tile(tile, rows, widen ? WeightFormat::kFloat32 : w_.format());
        }
      }
    }
  }

  // All but the rows of a tile. `cols` reaches to the end of the matrix.
  GemmTile TileAt(int64_t panel, int64_t k, int64_t k_len) const {
    const bool is_last = k + k_len == w_.num_cols();
    return {.x = nullptr,
            .w = w_.Panel(panel, k),
            .panel_bytes = w_.panel_bytes(),
            .k_len = k_len,
            .out = nullptr,
            .out_stride = w_.num_rows(),
            .cols = w_.num_rows() - panel * kPanelCols,
            .resume = k > 0,
            .rounding = is_last ? rounding_ : Rounding::kNone};
  }

  const GemmKernels& kernels_;
  ThreadPool& pool_;
  const float* x_;
  const PackedMatrix& w_;
  Rounding rounding_;
  float* out_;
  float* x_tiles_;
  RowTiles tiles_;
};

}  // namespace

void Gemm(const KernelTable& kernels, ThreadPool& pool, const float* x, int64_t num_rows,
          const PackedMatrix& w, Rounding rounding, float* out, GemmWorkspace& workspace) {
  if (num_rows == 0 || w.num_rows() == 0) return;
  const int64_t tiles_bytes =
      num_rows == 1 ? 0 : num_rows * w.num_cols() * static_cast<int64_t>(sizeof(float));
  if (workspace.x_tiles.num_bytes() < tiles_bytes) workspace.x_tiles = Buffer(tiles_bytes);
  float* x_tiles = static_cast<float*>(workspace.x_tiles.data());
  Product(kernels, pool, x, num_rows, w, rounding, out, x_tiles).Run();
}

}  // namespace detcheck::cpu
