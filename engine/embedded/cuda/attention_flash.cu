#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "engine/base/error.h"
#include "engine/embedded/cuda/attention_backends.h"
#include "engine/embedded/cuda/attention_flash.h"
#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/device_memory.h"

namespace detcheck::cuda {
namespace {

void CheckShape(const AttentionShape& shape) {
  const int dim = shape.head_dim;
  if (dim != 32 && dim != 64 && dim != 128) {
    throw Error(ErrorCode::kUnsupported, "attention backend flash: head_dim " +
                                             std::to_string(dim) + " is none of 32, 64, 128");
  }
  if (shape.group() > kWarpRows) {
    throw Error(ErrorCode::kUnsupported,
                "attention backend flash: " + std::to_string(shape.group()) +
                    " query heads for each KV head are more than " + std::to_string(kWarpRows));
  }
}

/// Shared memory that a block of threads may have on the current device.
int DeviceSharedBytes() {
  int device = 0, bytes = 0;
  DETCHECK_CUDA(cudaGetDevice(&device));
  DETCHECK_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return bytes;
}

/// Tensor-core attention: short rows of a sequence by units of keys, long ones by tiles of rows.
class FlashAttention : public Attention {
 public:
  FlashAttention(bool deterministic, const AttentionShape& shape, const StepLimits& limits,
                 const StepArrays& step, StepArena* arena, int most_shared_bytes)
      : deterministic_(deterministic),
        shape_(shape),
        step_(step),
        arena_(arena),
        capacity_(shape, limits),
        work_(FlashWork::Reserve(capacity_, arena)) {
    const int shared_bytes = std::min(DeviceSharedBytes(), most_shared_bytes);
    decode_ = flash::PrepareDecode(
        shape.head_dim,
        flash::DeepestThatFits(flash::DecodeSharedBytes, shape.head_dim, shared_bytes));
    launch_prefill_ = flash::PreparePrefill(shape.head_dim, shared_bytes);
    const auto num_counters = static_cast<size_t>(1 + capacity_.sequences * shape.num_kv_heads);
    counters_ = DeviceBuffer(num_counters * sizeof(unsigned));
    DETCHECK_CUDA(cudaMemset(counters_.as<unsigned>(), 0, counters_.num_bytes()));
    const size_t rows = static_cast<size_t>(capacity_.partial_rows * shape.num_kv_heads);
    max_sums_ = DeviceBuffer(rows * sizeof(float2));
    outputs_ = DeviceBuffer(rows * static_cast<size_t>(shape.head_dim) * sizeof(float));
  }

  void BeginStep(const StepBatch& batch, cudaStream_t stream) override {
    const int group = shape_.group();
    const DecodeLoad load(batch, group);
    const auto choose = deterministic_ ? DecodeCut::Deterministic : DecodeCut::ByOccupancy;
    const DecodeCut cut = choose(load, shape_.num_kv_heads, decode_.num_workers);
    CutStep(batch, step_.slot_offsets.host, group, cut, capacity_, &work_);
    is_one_row_each_ = batch.num_rows() == static_cast<int>(batch.sequences.size());
    arena_->Upload(work_.counts, 1, stream);
    arena_->Upload(work_.units, work_.counts.host->num_units, stream);
    arena_->Upload(work_.tiles, work_.num_tiles, stream);
  }

  void Run(const KvLayer& kv, const __nv_bfloat16* qkv, int padded_rows, __nv_bfloat16* out,
           cudaStream_t stream) override {
    const flash::LayerArgs layer = Layer(kv, qkv, out);
    if (work_.num_tiles > 0) {
      // In default mode no sequence is long enough for a second split.
      const int split = deterministic_ ? kKeySplit : kLongestSplit;
      launch_prefill_({layer, work_.tiles.device, work_.num_tiles, split}, stream);
    }
    if (is_one_row_each_ || work_.counts.host->num_rows > 0) {
      flash::DecodeArgs args;
      args.layer = layer;
      args.counts = work_.counts.device;
      args.units = work_.units.device;
      args.max_units = static_cast<int>(capacity_.units);
      args.padded_rows = is_one_row_each_ ? padded_rows : 0;
      args.partials = {max_sums_.as<float2>(), outputs_.as<float>(), capacity_.partial_rows};
      args.next_pair = counters_.as<unsigned>();
      args.num_stored = counters_.as<unsigned>() + 1;
      decode_.launch(args, decode_.num_workers, stream);
    }
  }

  Manifest Describe() const override {
    const auto field = [](const char* name, const std::string& value) {
      return ManifestField{std::string("kernels.attention_") + name, value, FieldSource::kObserved};
    };
    return {
        field("backend", "flash"), field("key_block", std::to_string(kKeyBlock)),
        field("key_split", deterministic_ ? std::to_string(kKeySplit) : "by batch and occupancy")};
  }

 private:
  static constexpr int kLongestSplit = std::numeric_limits<int>::max() / kKeyBlock * kKeyBlock;

  flash::LayerArgs Layer(const KvLayer& kv, const __nv_bfloat16* qkv, __nv_bfloat16* out) const {
    flash::LayerArgs layer;
    layer.qkv = qkv;
    layer.out = out;
    layer.kv = kv;
    layer.slot_table = step_.slot_table.device;
    layer.num_kv_heads = shape_.num_kv_heads;
    layer.group = shape_.group();
    layer.qkv_width = shape_.qkv_width();
    layer.out_width = shape_.num_heads * shape_.head_dim;
    layer.scale = static_cast<float>(1.4426950408889634 / std::sqrt(1.0 * shape_.head_dim));
    return layer;
  }

  bool deterministic_;
  AttentionShape shape_;
  const StepArrays& step_;
  StepArena* arena_;
  FlashCapacity capacity_;
  FlashWork work_;
  flash::DecodeLauncher decode_;
  flash::PrefillLauncher launch_prefill_ = nullptr;
  bool is_one_row_each_ = false;
  DeviceBuffer max_sums_;
  DeviceBuffer outputs_;
  DeviceBuffer counters_;
};

}  // namespace

std::unique_ptr<Attention> MakeFlashAttention(bool deterministic, const AttentionShape& shape,
                                              const StepLimits& limits, const StepArrays& step,
                                              StepArena* arena, int most_shared_bytes) {
  CheckShape(shape);
  return std::make_unique<FlashAttention>(deterministic, shape, limits, step, arena,
                                          most_shared_bytes);
}

}  // namespace detcheck::cuda
