#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/rng.h"
#include "engine/embedded/cuda/attention.h"
#include "engine/embedded/cuda/device_memory.h"

namespace detcheck::cuda {

/// Rows [start, start + count) of sequence `sequence`.
struct RowRange {
  int sequence = 0;
  int start = 0;
  int count = 0;
};

/// bf16 bits of rows of out, H * E each.
using RowBits = std::vector<uint16_t>;

/// Sequences with random queries, keys and values, and a paged KV cache that holds them in pages
/// of a drawn order; seed and lengths decide the values. All that belongs to no sequence is a large
/// number.
class AttentionWorld {
 public:
  AttentionWorld(const AttentionShape& shape, const std::vector<int>& lengths, uint64_t seed,
                 int page_size = 16);

  const AttentionShape& shape() const { return shape_; }
  int length(int sequence) const { return lengths_[Idx(sequence)]; }
  int num_sequences() const { return static_cast<int>(lengths_.size()); }
  const std::vector<int32_t>& slots(int sequence) const { return slots_[Idx(sequence)]; }
  int num_slots() const { return num_slots_; }

  /// Row `position` of qkv of a sequence, [(H + 2G) * E] bf16 bits.
  const uint16_t* Qkv(int sequence, int position) const;

  /// Sets keys and values of all positions from `position` on, in the cache alone.
  void Overwrite(int sequence, int position, float key, float value);

  /// Planes of the cache, each [G][num_slots][E].
  const std::vector<uint16_t>& keys() const { return keys_; }
  const std::vector<uint16_t>& values() const { return values_; }

  /// Row of a query head in double.
  std::vector<double> Exact(int sequence, int position, int head) const;
  /// Sum of weight times |value|, per element: what rounding errors are relative to.
  std::vector<double> ExactScale(int sequence, int position, int head) const;

 private:
  static size_t Idx(int i) { return static_cast<size_t>(i); }
  std::vector<double> Weighted(int sequence, int position, int head, bool absolute) const;

  AttentionShape shape_;
  std::vector<int> lengths_;
  int num_slots_ = 0;
  std::vector<std::vector<int32_t>> slots_;
  std::vector<std::vector<uint16_t>> qkv_;
  std::vector<uint16_t> keys_;
  std::vector<uint16_t> values_;
};

/// What a backend is told; it bounds its working memory and its kernels' shared memory.
struct RigLimits {
  int max_sequences = 48;
  int context_len = 1024;
  int most_shared_bytes = std::numeric_limits<int>::max();
};

/// One attention backend on the device, run on rows of a world. A sequence may take part in a step
/// several times.
class AttentionRig {
 public:
  AttentionRig(const std::string& backend, bool deterministic, const AttentionWorld& world,
               const RigLimits& limits = {});

  /// One step with these ranges as its sequences; the result has one entry per range.
  std::vector<RowBits> Run(const std::vector<RowRange>& ranges);

  /// The parts of Run: Prepare fills the step's arrays and waits for the copies; Launch is what a
  /// graph captures; Result waits and reads the first `num_rows` rows.
  void Prepare(const std::vector<RowRange>& ranges);
  void Launch(int padded_rows);
  RowBits Result(int num_rows);

  cudaStream_t stream() const { return stream_.get(); }
  Attention& attention() { return *attention_; }

  /// Takes the cache of the world as it is now.
  void UploadCache();

 private:
  const AttentionWorld& world_;
  Stream stream_;
  std::unique_ptr<StepArena> arena_;
  StepArrays step_;
  std::unique_ptr<Attention> attention_;
  DeviceBuffer keys_;
  DeviceBuffer values_;
  DeviceBuffer qkv_;
  DeviceBuffer out_;
  StepBatch batch_;
};

/// Rows of `actual` that are not bit for bit those of `expected`, told one a line (the first few):
/// position, head, element and both bits. Empty where there is none. Row 0 of both is at
/// `position`.
std::string Differences(const AttentionShape& shape, int position, const uint16_t* expected,
                        const RowBits& actual);

float FloatOfBits(uint16_t bits);
uint16_t BitsOfFloat(float value);

}  // namespace detcheck::cuda
