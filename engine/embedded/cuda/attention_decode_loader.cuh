#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "engine/embedded/cuda/attention_flash.h"
#include "engine/embedded/cuda/attention_mma.cuh"

/// How the decode kernel gets its work and its keys and values.
namespace detcheck::cuda::flash {

/// Blocks of threads of the decode kernel: one warp for each 16 keys of a block.
inline constexpr int kDecodeWarps = kKeyBlock / 16;
inline constexpr int kDecodeThreads = kDecodeWarps * 32;

/// One block of keys of a *pair*: a unit and a KV head, pair = unit * G + head.
struct alignas(16) BlockTask {
  int32_t pair;  ///< -1: there is no more work.
  int32_t key;   ///< Position of its first key.
  int32_t is_first;
  int32_t is_last;  ///< Of the pair.
};

/// Stages of the decode kernel: blocks of keys that it holds at once.
template <int E>
constexpr int DecodeStages(Depth depth) {
  return (E >= 128 ? 1 : 2) * (depth == Depth::kDeep ? 3 : 2);
}

/// Shared memory: stages of a block of keys and values and of its pair's queries, each with its
/// task; and what the warps tell each other.
template <int E, int kStages>
struct DecodeShared {
  struct Stage {
    unsigned char k[KvTile<E>::kBytes];
    unsigned char v[KvTile<E>::kBytes];
    unsigned char q[kWarpRows * E * 2];  ///< Where the block is the pair's first.
  };

  alignas(256) Stage stages[kStages];
  alignas(256) unsigned char weights[kWarpRows * kKeyBlock * 2];
  alignas(16) float maxima[kWarpRows][kDecodeWarps];
  BlockTask tasks[kStages];
  int next_pair;
  int is_last_unit;
};

/// Queues the copies of one block after another, ahead of the computation. Each thread holds the
/// same task, and copies its part. The first pair is the block's number, further ones are handed
/// out by a counter, if there are any: each opened pair asks for the next, so that a launch asks
/// `num_pairs` times and the counter, which wraps there, ends at zero.
template <int E, int kStages>
class DecodeLoader {
  using Shared = DecodeShared<E, kStages>;

 public:
  /// Reads the first unit while it does not know yet whether it is one.
  __device__ __forceinline__ DecodeLoader(const DecodeArgs& args, Shared* shared)
      : args_(args), shared_(shared), policy_(EvictFirst()) {
    const int pair = static_cast<int>(blockIdx.x);
    const int unit = pair / args.layer.num_kv_heads;
    ReadUnit(pair, min(unit, args.max_units - 1));
    num_pairs_ = args.counts->num_units * args.layer.num_kv_heads;
    OpenPair();
  }

  __device__ __forceinline__ bool HasWork() const { return now_.pair >= 0; }

  /// The copies of the current block into a stage, as one group; an empty one at the end.
  __device__ __forceinline__ void Issue(int stage) const {
    if (threadIdx.x == 0) {
      shared_->tasks[stage] = {now_.pair, key_, key_ == now_.key_begin, IsLastBlock()};
    }
    if (HasWork()) {
      typename Shared::Stage& to = shared_->stages[stage];
      CopyRows(SharedAddress(to.k), SharedAddress(to.v));
      if (key_ == now_.key_begin) CopyQueries(SharedAddress(to.q));
    }
    CommitCopies();
  }

  /// Goes to the next block. Between two calls there must be a barrier, a Publish and a barrier.
  __device__ __forceinline__ void Advance() {
    if (!HasWork()) return;
    if (!has_read_next_) {
      // Where the pair has more blocks, the unit arrives before it is needed.
      const int pair = shared_->next_pair;
      ReadUnit(pair, pair < num_pairs_ ? pair / args_.layer.num_kv_heads : 0);
      has_read_next_ = true;
    }
    if (IsLastBlock()) {
      OpenPair();
    } else {
      key_ += kKeyBlock;
      LoadSlot();
    }
  }

  /// Tells all threads the pair that was asked for.
  __device__ __forceinline__ void Publish() {
    if (threadIdx.x == 0 && has_asked_) {
      shared_->next_pair = static_cast<int>(gridDim.x + ticket_);
      has_asked_ = false;
    }
  }

 private:
  static constexpr int kChunks = KvTile<E>::kChunks;
  static constexpr int kRowsAtOnce = 32 / kChunks;

  __device__ __forceinline__ bool IsLastBlock() const { return key_ + kKeyBlock >= now_.key_end; }

  __device__ __forceinline__ void ReadUnit(int pair, int index) {
    const DecodeUnit& unit = args_.units[index];
    next_.pair = pair;
    next_.key_begin = unit.key_begin;
    next_.key_end = unit.key_end;
    next_.first_row = unit.first_row;
    next_.num_flat_rows = unit.num_flat_rows;
    next_.slot_offset = unit.slot_offset;
  }

  /// The one that was read, if there is one.
  __device__ __forceinline__ void OpenPair() {
    now_ = next_;
    has_read_next_ = false;
    if (now_.pair >= num_pairs_) now_.pair = -1;
    if (!HasWork()) return;
    key_ = now_.key_begin;
    kv_head_ = now_.pair % args_.layer.num_kv_heads;
    k_ = args_.layer.kv.k + kv_head_ * args_.layer.kv.num_slots * E;
    if (threadIdx.x == 0) {
      const auto pairs = static_cast<unsigned>(num_pairs_);
      ticket_ = pairs > gridDim.x ? atomicInc(args_.next_pair, pairs - 1) : pairs;
      has_asked_ = true;
    }
    LoadSlot();
  }

  /// Of the warp's key number lane % 16.
  __device__ __forceinline__ void LoadSlot() {
    const int key =
        key_ + static_cast<int>(threadIdx.x) / 32 * 16 + static_cast<int>(threadIdx.x % 16);
    slot_ = key < now_.key_end ? args_.layer.slot_table[now_.slot_offset + key] : -1;
  }

  /// The warp's 16 keys and values.
  __device__ __forceinline__ void CopyRows(uint32_t k_tile, uint32_t v_tile) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int first_row = static_cast<int>(threadIdx.x) / 32 * 16;
    const int chunk = lane % kChunks;
    const int64_t v_minus_k = args_.layer.kv.v - args_.layer.kv.k;
#pragma unroll
    for (int i = 0; i < 16; i += kRowsAtOnce) {
      const int row = i + lane / kChunks;
      const int slot = __shfl_sync(kAllLanes, slot_, row);
      const __nv_bfloat16* from = k_ + (static_cast<int64_t>(max(slot, 0)) * E + chunk * 8);
      const uint32_t to = KvTile<E>::Offset(first_row + row, chunk);
      CopyChunkOnce(k_tile + to, from, slot >= 0, policy_);
      CopyChunkOnce(v_tile + to, from + v_minus_k, slot >= 0, policy_);
    }
  }

  /// Rows beyond the unit's are zeros.
  __device__ __forceinline__ void CopyQueries(uint32_t q_tile) const {
    const LayerArgs& layer = args_.layer;
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int i = thread; i < kWarpRows * kChunks; i += kDecodeThreads) {
      const int flat = i / kChunks, chunk = i % kChunks;
      const bool is_row = flat < now_.num_flat_rows;
      const int known = is_row ? flat : 0;
      const int64_t row = now_.first_row + known / layer.group;
      const int head = kv_head_ * layer.group + known % layer.group;
      CopyChunk(q_tile + KvTile<E>::Offset(flat, chunk),
                layer.qkv + row * layer.qkv_width + head * E + chunk * 8, is_row);
    }
  }

  /// What it needs to know of a pair and its unit.
  struct Pair {
    int pair;
    int key_begin;
    int key_end;
    int first_row;
    int num_flat_rows;
    int64_t slot_offset;
  };

  const DecodeArgs& args_;
  Shared* shared_;
  uint64_t policy_;
  int num_pairs_;
  Pair now_;
  Pair next_;  ///< Where has_read_next_.
  bool has_read_next_;
  int key_;
  int kv_head_;
  const __nv_bfloat16* k_;  ///< Of the head.
  int slot_;                ///< -1 beyond the unit's end.
  unsigned ticket_;         ///< Of the pair asked for, in thread 0.
  bool has_asked_ = false;
};

}  // namespace detcheck::cuda::flash
