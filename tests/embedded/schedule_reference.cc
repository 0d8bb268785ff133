#include "tests/embedded/schedule_reference.h"

#include <algorithm>
#include <numeric>

namespace detcheck {
namespace {

EngineOptions Plain(EngineOptions options) {
  options.num_threads = 1;
  options.cuda_graph = false;
  return options;
}

}  // namespace

LoadedOps::LoadedOps(const EngineDevice& device, const EngineOptions& options, int max_rows,
                     int num_slots) {
  LoadedModel loaded = LoadModel(options);
  config = loaded.config;
  ops = device.make_ops(config, ForDevice(device, options),
                        {max_rows, std::min(max_rows, 128), max_rows});
  model = std::make_unique<Model>(config, loaded.weights.get(), ops.get(), max_rows);
  ops->AllocateKvCache(num_slots);
}

ScheduleReference::ScheduleReference(const EngineDevice& device, const EngineOptions& options,
                                     int max_len)
    : loaded_(device, Plain(options), max_len, max_len) {}

std::vector<std::string> ScheduleReference::Digests(const std::vector<TokenId>& ids) {
  std::vector<Node*> path;
  Node* node = &root_;
  bool complete = true;
  for (const TokenId id : ids) {
    auto& next = node->next[id];
    if (!next) next = std::make_unique<Node>();
    node = next.get();
    complete = complete && !node->digest.empty();
    path.push_back(node);
  }
  if (!complete) Prefill(ids, path);
  std::vector<std::string> digests;
  for (const Node* n : path) digests.push_back(n->digest);
  return digests;
}

void ScheduleReference::Prefill(const std::vector<TokenId>& ids, const std::vector<Node*>& path) {
  const auto len = static_cast<int>(ids.size());
  std::vector<int32_t> slots(len);
  std::iota(slots.begin(), slots.end(), 0);
  StepBatch batch;
  batch.ids = ids;
  batch.positions = slots;
  batch.slots = slots;
  batch.sequences = {{.first_row = 0, .num_tokens = len, .start_pos = 0, .slots = slots.data()}};
  for (int i = 0; i < len; ++i) {
    if (path[i]->digest.empty()) batch.logit_rows.push_back(i);
  }
  loaded_.model->Forward(batch);
  const auto digests = loaded_.ops->LogitDigests();
  for (size_t i = 0; i < digests.size(); ++i) path[batch.logit_rows[i]]->digest = digests[i];
  num_positions_ += static_cast<int64_t>(digests.size());
}

}  // namespace detcheck
