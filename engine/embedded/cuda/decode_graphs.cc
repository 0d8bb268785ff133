#include "engine/embedded/cuda/decode_graphs.h"

#include <algorithm>

#include "engine/embedded/cuda/check.h"

namespace detcheck::cuda {
namespace {

/// Small batches exactly, larger ones to a multiple that wastes little.
std::vector<int> GraphSizes(int max_rows) {
  std::vector<int> sizes;
  for (const int size :
       {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128}) {
    if (size <= max_rows) sizes.push_back(size);
  }
  for (int size = 160; size <= std::min(max_rows, 512); size += 32) sizes.push_back(size);
  return sizes;
}

}  // namespace

DecodeGraphs::DecodeGraphs(bool on, int max_rows) : on_(on), sizes_(GraphSizes(max_rows)) {}

DecodeGraphs::~DecodeGraphs() {
  Clear();
}

void DecodeGraphs::Clear() {
  for (const auto& [rows, graph] : graphs_) cudaGraphExecDestroy(graph);
  graphs_.clear();
}

bool DecodeGraphs::GetsGraph(int num_rows) const {
  return on_ && !sizes_.empty() && num_rows <= sizes_.back();
}

int DecodeGraphs::PaddedRows(int num_rows) const {
  if (!GetsGraph(num_rows)) return num_rows;
  return *std::lower_bound(sizes_.begin(), sizes_.end(), num_rows);
}

void DecodeGraphs::Abandon(cudaStream_t stream) {
  if (!capturing_) return;
  capturing_ = false;
  cudaGraph_t abandoned = nullptr;
  cudaStreamEndCapture(stream, &abandoned);
  if (abandoned != nullptr) cudaGraphDestroy(abandoned);
  cudaGetLastError();  // What the step failed of has been told.
}

void DecodeGraphs::Begin(bool decode, int num_rows, cudaStream_t stream) {
  current_ = decode && GetsGraph(num_rows) ? PaddedRows(num_rows) : 0;
  replaying_ = graphs_.contains(current_);
  if (current_ == 0 || replaying_) return;
  DETCHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  capturing_ = true;
}

void DecodeGraphs::Launch(cudaStream_t stream) {
  if (capturing_) {
    capturing_ = false;
    cudaGraph_t graph = nullptr;
    DETCHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphDestroy(graph);
    CheckStatus(status, "cudaGraphInstantiate");
    graphs_[current_] = exec;
  }
  replaying_ = false;
  if (current_ > 0) DETCHECK_CUDA(cudaGraphLaunch(graphs_.at(current_), stream));
}

}  // namespace detcheck::cuda
