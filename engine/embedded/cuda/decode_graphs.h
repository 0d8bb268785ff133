#pragma once

#include <cuda_runtime.h>

#include <map>
#include <vector>

namespace detcheck::cuda {

/// CUDA graphs of whole decode steps, one per padded number of rows. The first step of a number is
/// captured as it is queued; later ones replay it.
class DecodeGraphs {
 public:
  /// Off: every step is queued call by call. `max_rows`: most rows that a step has room for.
  DecodeGraphs(bool on, int max_rows);
  DecodeGraphs(const DecodeGraphs&) = delete;
  DecodeGraphs& operator=(const DecodeGraphs&) = delete;
  ~DecodeGraphs();

  /// Rows to which a decode step of `num_rows` is padded; `num_rows` itself where it gets no graph.
  int PaddedRows(int num_rows) const;

  /// Ends the capture that a step which failed half-way has left open; before anything of the next
  /// step is queued, which would be captured too.
  void Abandon(cudaStream_t stream);

  /// A step begins, its input already queued. A decode step that gets a graph is captured, or found
  /// captured: then the calls up to Launch must queue nothing.
  void Begin(bool decode, int num_rows, cudaStream_t stream);
  bool replaying() const { return replaying_; }

  /// The step's last call was queued: launches the graph, where the step has one.
  void Launch(cudaStream_t stream);

  /// Forgets all graphs: what they were captured with has changed. No step may be running.
  void Clear();

  int num_captured() const { return static_cast<int>(graphs_.size()); }

 private:
  bool GetsGraph(int num_rows) const;

  bool on_;
  std::vector<int> sizes_;                 ///< Ascending.
  std::map<int, cudaGraphExec_t> graphs_;  ///< By padded rows.
  int current_ = 0;                        ///< Padded rows of the step; 0: it has no graph.
  bool capturing_ = false;
  bool replaying_ = false;
};

}  // namespace detcheck::cuda
