#include "engine/embedded/cpu/gemm.h"

#include <algorithm>

namespace detcheck::cpu {
namespace {

constexpr int64_t kBlockK = 512;     // A float32 panel of this depth takes 64 KiB.
constexpr int64_t kChunkRows = 512;  // X[kChunkRows, kBlockK] (1 MiB) stays in L2.
constexpr int64_t kPrefetchBytes = 2048;
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

// The calling thread's own memory for at least `num_floats` sums.
float* ThreadSums(int64_t num_floats) {
  static thread_local Buffer buffer;
  const int64_t num_bytes = num_floats * static_cast<int64_t>(sizeof(float));
  if (buffer.num_bytes() < num_bytes) buffer = Buffer(num_bytes);
  return static_cast<float*>(buffer.data());
}

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
      GemmTile tile = WholeTile(task * task_panels);
      tile.x = x_;
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

  // Panels by tiles.
  void RunBlock(int64_t panel_begin, int64_t panel_end, int64_t tile_begin, int64_t tile_end) {
    if (tile_end - tile_begin == 1) {
      for (int64_t panel = panel_begin; panel < panel_end; ++panel) RunTile(panel, tile_begin);
      return;
    }
    const int64_t num_rows = tiles_.Begin(tile_end) - tiles_.Begin(tile_begin);
    float* sums = ThreadSums((panel_end - panel_begin) * num_rows * kPanelCols);
    for (int64_t k = 0; k < w_.num_cols(); k += kBlockK) {
      for (int64_t panel = panel_begin; panel < panel_end; ++panel) {
        RunPanel(panel, k, tile_begin, tile_end,
                 sums + (panel - panel_begin) * num_rows * kPanelCols);
      }
    }
  }

  // A panel that one tile alone uses: streamed once, over all k.
  void RunTile(int64_t panel, int64_t t) {
    GemmTile tile = WholeTile(panel);
    tile.x = x_tiles_ + tiles_.Begin(t) * w_.num_cols();
    tile.out += tiles_.Begin(t) * w_.num_rows();
    tile.cols = std::min<int64_t>(kPanelCols, tile.cols);
    kernels_.tile(tile, tiles_.Rows(t), w_.format());
  }

  // One panel by several tiles, over the block of k that starts at `k`. `sums` holds what waits
  // between the blocks, [rows of the tiles, kPanelCols].
  void RunPanel(int64_t panel, int64_t k, int64_t tile_begin, int64_t tile_end, float* sums) {
    const bool is_last = k + kBlockK >= w_.num_cols();
    alignas(64) float wide[kBlockK * kPanelCols];
    GemmTile tile = WholeTile(panel);
    tile.w = w_.Panel(panel, k);
    tile.k_len = std::min(kBlockK, w_.num_cols() - k);
    tile.cols = std::min<int64_t>(kPanelCols, tile.cols);
    tile.prefetch = static_cast<const char*>(w_.Panel(panel + 1, k));
    if (w_.format() == WeightFormat::kBf16) {
      kernels_.widen_panel(tile.w, wide, tile.k_len);
      tile.w = wide;
    }
    if (!is_last) {
      tile.rounding = Rounding::kNone;
      tile.out_stride = kPanelCols;
      tile.cols = kPanelCols;
    }
    for (int64_t t = tile_begin; t < tile_end; ++t) {
      const int rows = tiles_.Rows(t);
      float* tile_sums = sums + (tiles_.Begin(t) - tiles_.Begin(tile_begin)) * kPanelCols;
      tile.x = x_tiles_ + tiles_.Begin(t) * w_.num_cols() + k * rows;
      tile.sums = k > 0 ? tile_sums : nullptr;
      tile.out = is_last ? out_ + tiles_.Begin(t) * w_.num_rows() + panel * kPanelCols : tile_sums;
      kernels_.tile(tile, rows, WeightFormat::kFloat32);
      // The first tile fetches the next panel, the others the X of the tile after them.
      tile.prefetch = reinterpret_cast<const char*>(tile.x + 2 * w_.num_cols() * rows);
      tile.prefetch_step = rows * static_cast<int64_t>(sizeof(float));
    }
  }

  // All k of a panel, no rows yet. `out` is at row 0 and `cols` reaches to the end of the matrix.
  GemmTile WholeTile(int64_t panel) const {
    const void* w = w_.Panel(panel, 0);
    return {.x = nullptr,
            .w = w,
            .panel_bytes = w_.panel_bytes(),
            .k_len = w_.num_cols(),
            .sums = nullptr,
            .out = out_ + panel * kPanelCols,
            .out_stride = w_.num_rows(),
            .cols = w_.num_rows() - panel * kPanelCols,
            .rounding = rounding_,
            .prefetch = static_cast<const char*>(w) + kPrefetchBytes,
            .prefetch_step = PanelBytesPerK(w_.format())};
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
