#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/device_memory.h"

namespace detcheck::cuda {

/// Work of a benchmark, captured several times over in one CUDA graph, so that launches from the
/// host are not what is timed.
class TimedGraph {
 public:
  /// Captures run(0) to run(num_runs - 1), which launch on `stream`, after one run(0) outside that
  /// loads its kernels. The stream must outlive the graph. Throws Error(kDevice).
  TimedGraph(int num_runs, const std::function<void(int)>& run, cudaStream_t stream)
      : num_runs_(num_runs), stream_(stream) {
    run(0);
    cudaGraph_t graph;
    DETCHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < num_runs; ++i) run(i);
    DETCHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    DETCHECK_CUDA(cudaGraphInstantiate(&exec_, graph, 0));
    DETCHECK_CUDA(cudaGraphDestroy(graph));
  }
  TimedGraph(const TimedGraph&) = delete;
  TimedGraph& operator=(const TimedGraph&) = delete;
  ~TimedGraph() { cudaGraphExecDestroy(exec_); }

  /// Launches the graph and waits for it: microseconds of one run.
  double Time() {
    begin_.Record(stream_);
    DETCHECK_CUDA(cudaGraphLaunch(exec_, stream_));
    end_.Record(stream_);
    end_.Synchronize();
    return 1e3 * static_cast<double>(end_.MillisecondsSince(begin_)) / num_runs_;
  }

 private:
  int num_runs_;
  cudaStream_t stream_;
  cudaGraphExec_t exec_ = nullptr;
  Event begin_;
  Event end_;
};

/// The upper of the two middle values where their number is even. There must be one at least.
inline double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace detcheck::cuda
