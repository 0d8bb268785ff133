#include "engine/embedded/cpu/attention_kernels.h"

#include "engine/embedded/cpu/attention_tile.inl"

namespace detcheck::cpu::DETCHECK_LEVEL_NS {
namespace {

// Up to this many rows of a 16-bit cache are computed straight from it; for more, widening a block
// once is cheaper.
constexpr int kMostDirectRows = 8;

// dst[head_dim][16] = K of the 16 keys of group `g`.
template <typename T>
void GatherKeys(const T* k, const KeyPlaces& places, int g, int head_dim, float* dst,
                int64_t dst_stride) {
  const int32_t whole = places.groups[g];
  if (whole >= 0) {
    const T* src = k + int64_t{whole} * head_dim * kKeyGroup;
    for (int e = 0; e < head_dim; ++e) Store(dst + e * dst_stride, Widen(src + e * kKeyGroup));
    return;
  }
  const T* src[kKeyGroup];
  const int left = places.num_keys - g * kKeyGroup;
  const int n = left < kKeyGroup ? left : kKeyGroup;
  for (int i = 0; i < n; ++i) {
    const int32_t slot = places.slots[g * kKeyGroup + i];
    src[i] = k + int64_t{slot / kKeyGroup} * head_dim * kKeyGroup + slot % kKeyGroup;
  }
  T column[kKeyGroup] = {};
  for (int e = 0; e < head_dim; ++e) {
    for (int i = 0; i < n; ++i) column[i] = src[i][e * kKeyGroup];
    Store(dst + e * dst_stride, Widen(column));
  }
}

// dst[n][padded] = V of the first n keys of group `g`.
template <typename T>
void GatherValues(const T* v, const KeyPlaces& places, int g, int n, int padded, float* dst) {
  for (int i = 0; i < n; ++i) {
    const T* src = v + int64_t{places.slots[g * kKeyGroup + i]} * padded;
    for (int e = 0; e < padded; e += kLanes) Store(dst + i * padded + e, Widen(src + e));
  }
}

int KeysOfGroup(const KeyPlaces& places, int g) {
  const int left = places.num_keys - g * kKeyGroup;
  return left < kKeyGroup ? left : kKeyGroup;
}

// The block from group `first` on, widened into scratch.
template <typename T>
KeyBlock<float> WidenBlock(const KvPlane& plane, const KeyPlaces& places, int first, int num_groups,
                           float* scratch) {
  const int padded = PaddedHeadDim(plane.head_dim);
  float* values = scratch + kKeyBlock * plane.head_dim;
  KeyBlock<float> block;
  for (int j = 0; j < kGroupsPerBlock; ++j) {
    const int from = j < num_groups ? j : 0;  // A group beyond the end: any, its scores are masked.
    float* k = scratch + from * plane.head_dim * kKeyGroup;
    float* v = values + from * padded * kKeyGroup;
    if (j < num_groups) {
      const int n = KeysOfGroup(places, first + j);
      GatherKeys(static_cast<const T*>(plane.k), places, first + j, plane.head_dim, k, kKeyGroup);
      GatherValues(static_cast<const T*>(plane.v), places, first + j, n, padded, v);
    }
    block.k[j] = k;
    block.v[j] = v;
  }
  return block;
}

// The block from group `first` on, in place.
template <typename T>
KeyBlock<T> DirectBlock(const KvPlane& plane, const KeyPlaces& places, int first, int num_groups) {
  KeyBlock<T> block;
  for (int j = 0; j < kGroupsPerBlock; ++j) {
    const int64_t slot = int64_t{places.groups[first + (j < num_groups ? j : 0)]} * kKeyGroup;
    block.k[j] = static_cast<const T*>(plane.k) + slot * plane.head_dim;
    block.v[j] = static_cast<const T*>(plane.v) + slot * PaddedHeadDim(plane.head_dim);
  }
  return block;
}

bool AllWhole(const KeyPlaces& places, int first, int num_groups) {
  for (int j = 0; j < num_groups; ++j) {
    if (places.groups[first + j] < 0) return false;
  }
  return true;
}

template <typename T>
void Attend(const KvPlane& plane, const KeyPlaces& places, const QueryRows& rows, int first_key,
            int end_key, float* scratch, float* states) {
  const int state_size = StateSize(plane.head_dim);
  const int last_key = rows.num_keys[rows.num_rows - 1];
  const int end = end_key < last_key ? end_key : last_key;
  int first_row = 0;
  for (int key = first_key; key < end; key += kKeyBlock) {
    while (rows.num_keys[first_row] <= key) ++first_row;
    if (key == first_key) {
      for (int r = first_row; r < rows.num_rows; ++r) Clear(states + r * state_size, state_size);
    }
    const int num_keys = end - key < kKeyBlock ? end - key : kKeyBlock;
    const int first = key / kKeyGroup;
    const int num_groups = (num_keys + kKeyGroup - 1) / kKeyGroup;
    const bool direct = AllWhole(places, first, num_groups) &&
                        (sizeof(T) == 4 || rows.num_rows - first_row <= kMostDirectRows);
    const Tile tile{rows, plane.head_dim, key, num_keys, states};
    if (direct) {
      RunBlock(tile, DirectBlock<T>(plane, places, first, num_groups), first_row);
    } else {
      RunBlock(tile, WidenBlock<T>(plane, places, first, num_groups, scratch), first_row);
    }
  }
}

template <typename T>
void WriteKv(const KvPlane& plane, int slot, const float* k, const float* v) {
  const int padded = PaddedHeadDim(plane.head_dim);
  T* k_to = static_cast<T*>(plane.k) + int64_t{slot / kKeyGroup} * plane.head_dim * kKeyGroup +
            slot % kKeyGroup;
  T* v_to = static_cast<T*>(plane.v) + int64_t{slot} * padded;
  for (int e = 0; e < plane.head_dim; e += kLanes) {
    const int left = plane.head_dim - e;
    const int n = left < kLanes ? left : kLanes;
    T narrow[kLanes];
    Narrow(narrow, LoadPartial(k + e, n));
    for (int i = 0; i < n; ++i) k_to[(e + i) * kKeyGroup] = narrow[i];
    Narrow(v_to + e, LoadPartial(v + e, n));
  }
}

template <typename T>
void Gather(const KvPlane& plane, const KeyPlaces& places, int num_keys, int64_t stride,
            float* k_out, float* v_out) {
  const int padded = PaddedHeadDim(plane.head_dim);
  const int num_groups = (num_keys + kKeyGroup - 1) / kKeyGroup;
  for (int g = 0; g < num_groups; ++g) {
    GatherKeys(static_cast<const T*>(plane.k), places, g, plane.head_dim, k_out + g * kKeyGroup,
               stride);
  }
  for (int i = 0; i < num_keys; ++i) {
    const T* src = static_cast<const T*>(plane.v) + int64_t{places.slots[i]} * padded;
    float* dst = v_out + int64_t{i} * plane.head_dim;
    for (int e = 0; e < plane.head_dim; e += kLanes) {
      const int left = plane.head_dim - e;
      StorePartial(dst + e, Widen(src + e), left < kLanes ? left : kLanes);
    }
  }
}

// Calls the instance of a kernel for the plane's element.
#define DETCHECK_BY_ELEMENT(Function, plane, ...) \
  switch ((plane).element) {                      \
    case KvElement::kBf16:                        \
      Function<Bf16>(plane, __VA_ARGS__);         \
      break;                                      \
    case KvElement::kF16:                         \
      Function<F16>(plane, __VA_ARGS__);          \
      break;                                      \
    case KvElement::kF32:                         \
      Function<float>(plane, __VA_ARGS__);        \
      break;                                      \
  }

void AttendAny(const KvPlane& plane, const KeyPlaces& places, const QueryRows& rows, int first_key,
               int end_key, float* scratch, float* states) {
  DETCHECK_BY_ELEMENT(Attend, plane, places, rows, first_key, end_key, scratch, states)
}

void WriteKvAny(const KvPlane& plane, int slot, const float* k, const float* v) {
  DETCHECK_BY_ELEMENT(WriteKv, plane, slot, k, v)
}

void GatherAny(const KvPlane& plane, const KeyPlaces& places, int num_keys, int64_t stride,
               float* k_out, float* v_out) {
  DETCHECK_BY_ELEMENT(Gather, plane, places, num_keys, stride, k_out, v_out)
}

void Merge(const float* part, float* total, int head_dim) {
  const float max = part[0] > total[0] ? part[0] : total[0];
  const Lanes keep = Exp(Broadcast(total[0] - max));
  const Lanes join = Exp(Broadcast(part[0] - max));
  total[0] = max;
  for (int i = kStateSum; i < StateSize(head_dim); i += kLanes) {
    Store(total + i, Fma(Load(part + i), join, Mul(Load(total + i), keep)));
  }
}

void Finish(const float* total, float* out, int head_dim) {
  const Lanes scale = Broadcast(1.0f / ReduceAdd(Load(total + kStateSum)));
  for (int e = 0; e < head_dim; e += kLanes) {
    const int left = head_dim - e;
    const Lanes y = Mul(Load(total + kStateOut + e), scale);
    StorePartial(out + e, y, left < kLanes ? left : kLanes);
  }
}

}  // namespace

extern const AttentionKernels kAttentionKernels;
const AttentionKernels kAttentionKernels = {
    .write_kv = WriteKvAny,
    .attend = AttendAny,
    .merge = Merge,
    .finish = Finish,
    .gather = GatherAny,
};

}  // namespace detcheck::cpu::DETCHECK_LEVEL_NS
