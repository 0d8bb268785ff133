#include "engine/embedded/cuda/verify.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "engine/embedded/cuda/check.h"
#include "engine/embedded/weights_dtype.h"

namespace detcheck::cuda {
namespace {

constexpr int kLength = 600;  ///< Tokens of the sequence: more than two splits of any backend.
constexpr int kSequences = 8;
constexpr int kPositions[kSequences] = {0, 1, 63, 64, 255, 256, 511, kLength - 1};

std::vector<uint16_t> RandomBf16(int64_t count, uint32_t stream) {
  Rng rng(1, stream);
  std::vector<uint16_t> values(static_cast<size_t>(count));
  for (uint16_t& v : values) v = Bf16FromFloat(static_cast<float>(4.0 * rng.Unit() - 2.0));
  return values;
}

/// One random sequence whose keys lie in the cache twice, in ascending and in descending slots.
class AttentionCheck {
 public:
  AttentionCheck(const std::string& backend, const AttentionShape& shape)
      : shape_(shape),
        limits_{.max_rows = kLength, .max_sequences = kSequences, .context_len = kLength},
        arena_(Bytes()),
        attention_(Reserve(backend)),
        queries_(RandomBf16(int64_t{kLength} * shape.qkv_width(), 1)),
        qkv_(queries_.size() * sizeof(uint16_t)),
        out_(static_cast<size_t>(kLength) * RowBytes()) {
    FillCache(2, &k_);
    FillCache(3, &v_);
    for (const bool descending : {false, true}) {
      std::vector<int32_t>& slots = slots_[descending];
      slots.resize(kLength);
      std::iota(slots.begin(), slots.end(), 0);
      if (descending) {
        for (int32_t& slot : slots) slot = 2 * kLength - 1 - slot;
      }
    }
  }

  void Run() {
    const std::vector<std::byte> whole = Attend({{0, kLength}}, /*descending=*/false);
    int begin = 0;
    for (const int end : {100, 357, kLength}) {
      Require(Attend({{begin, end - begin}}, /*descending=*/true), whole, begin, end - begin,
              "prefill in chunks");
      begin = end;
    }
    std::vector<Part> together;
    for (const int position : kPositions) together.push_back({position, 1});
    const std::vector<std::byte> batch = Attend(together, /*descending=*/true);
    for (int i = 0; i < kSequences; ++i) {
      const std::vector<std::byte> row(batch.begin() + i * static_cast<int64_t>(RowBytes()),
                                       batch.begin() + (i + 1) * static_cast<int64_t>(RowBytes()));
      Require(row, whole, kPositions[i], 1, "decode in a batch");
      Require(Attend({{kPositions[i], 1}}, /*descending=*/false), whole, kPositions[i], 1,
              "decode alone");
    }
  }

 private:
  struct Part {
    int start = 0;
    int num_tokens = 0;
  };

  size_t Bytes() const {
    return AttentionArenaBytes(shape_, limits_) + StepArena::Padded(kSequences * sizeof(int64_t)) +
           StepArena::Padded(kLength * sizeof(int32_t)) +
           StepArena::Padded(size_t{kSequences} * kLength * sizeof(int32_t));
  }

  std::unique_ptr<Attention> Reserve(const std::string& backend) {
    step_.positions = arena_.Reserve<int32_t>(kLength);
    step_.slot_offsets = arena_.Reserve<int64_t>(kSequences);
    step_.slot_table = arena_.Reserve<int32_t>(int64_t{kSequences} * kLength);
    return MakeAttention(backend, /*deterministic=*/true, shape_, limits_, step_, &arena_);
  }

  size_t RowBytes() const {
    return static_cast<size_t>(shape_.num_heads) * static_cast<size_t>(shape_.head_dim) *
           sizeof(uint16_t);
  }

  /// plane[G][2 · kLength][E]: position p in slots p and 2 · kLength - 1 - p.
  void FillCache(uint32_t stream, DeviceBuffer* plane) {
    const auto width = static_cast<size_t>(shape_.head_dim);
    const auto heads = static_cast<size_t>(shape_.num_kv_heads);
    const std::vector<uint16_t> rows =
        RandomBf16(static_cast<int64_t>(heads * kLength * width), stream);
    std::vector<uint16_t> cache(2 * rows.size());
    for (size_t g = 0; g < heads; ++g) {
      for (size_t p = 0; p < kLength; ++p) {
        const auto row = rows.begin() + static_cast<int64_t>((g * kLength + p) * width);
        for (const size_t slot : {p, 2 * kLength - 1 - p}) {
          std::copy_n(row, width,
                      cache.begin() + static_cast<int64_t>((g * 2 * kLength + slot) * width));
        }
      }
    }
    *plane = DeviceBuffer(cache.size() * sizeof(uint16_t));
    DETCHECK_CUDA(
        cudaMemcpy(plane->as<void>(), cache.data(), plane->num_bytes(), cudaMemcpyHostToDevice));
  }

  /// The output rows of `parts`, each a sequence of its own.
  std::vector<std::byte> Attend(const std::vector<Part>& parts, bool descending) {
    const auto width = static_cast<int64_t>(shape_.qkv_width());
    StepBatch batch;
    std::vector<uint16_t> rows;
    arena_.BeginStep();
    int64_t offset = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto& [start, num_tokens] = parts[i];
      batch.sequences.push_back({.first_row = batch.num_rows(),
                                 .num_tokens = num_tokens,
                                 .start_pos = start,
                                 .slots = slots_[descending].data()});
      for (int token = 0; token < num_tokens; ++token) {
        step_.positions.host[batch.num_rows() + token] = start + token;
      }
      batch.ids.resize(batch.ids.size() + static_cast<size_t>(num_tokens));
      rows.insert(rows.end(), queries_.begin() + start * width,
                  queries_.begin() + (start + num_tokens) * width);
      step_.slot_offsets.host[i] = offset;
      std::copy_n(slots_[descending].data(), start + num_tokens, step_.slot_table.host + offset);
      offset += start + num_tokens;
    }
    const cudaStream_t stream = stream_.get();
    arena_.Upload(step_.positions, batch.num_rows(), stream);
    arena_.Upload(step_.slot_offsets, static_cast<int64_t>(parts.size()), stream);
    arena_.Upload(step_.slot_table, offset, stream);
    attention_->BeginStep(batch, stream);
    arena_.EndUploads(stream);
    DETCHECK_CUDA(cudaMemcpyAsync(qkv_.as<void>(), rows.data(), rows.size() * sizeof(uint16_t),
                                  cudaMemcpyHostToDevice, stream));
    const KvLayer kv{
        .k = k_.as<__nv_bfloat16>(), .v = v_.as<__nv_bfloat16>(), .num_slots = 2 * kLength};
    attention_->Run(kv, qkv_.as<__nv_bfloat16>(), batch.num_rows(), out_.as<__nv_bfloat16>(),
                    stream);
    std::vector<std::byte> out(static_cast<size_t>(batch.num_rows()) * RowBytes());
    DETCHECK_CUDA(
        cudaMemcpyAsync(out.data(), out_.as<void>(), out.size(), cudaMemcpyDeviceToHost, stream));
    stream_.Synchronize();
    return out;
  }

  void Require(const std::vector<std::byte>& rows, const std::vector<std::byte>& whole, int begin,
               int num_rows, const char* what) const {
    for (int i = 0; i < num_rows; ++i) {
      const auto row = static_cast<size_t>(i);
      const auto position = static_cast<size_t>(begin + i);
      if (std::memcmp(rows.data() + row * RowBytes(), whole.data() + position * RowBytes(),
                      RowBytes()) == 0) {
        continue;
      }
      throw Error(
          ErrorCode::kDevice,
          std::string("deterministic mode does not hold on this GPU: attention at position ") +
              std::to_string(position) + " by " + what + " is not that of one prefill");
    }
  }

  AttentionShape shape_;
  StepLimits limits_;
  Stream stream_;
  StepArena arena_;
  StepArrays step_;
  std::unique_ptr<Attention> attention_;
  std::vector<uint16_t> queries_;  ///< [kLength, (H + 2G)·E]; keys and values in it are not used.
  DeviceBuffer qkv_;
  DeviceBuffer out_;
  DeviceBuffer k_;
  DeviceBuffer v_;
  std::vector<int32_t> slots_[2];  ///< Ascending, descending.
};

}  // namespace

void VerifyAttention(const std::string& backend, const AttentionShape& shape) {
  AttentionCheck(backend, shape).Run();
}

}  // namespace detcheck::cuda
