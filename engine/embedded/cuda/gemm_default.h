#pragma once

#include <memory>

#include "engine/embedded/cuda/gemm.h"

namespace detcheck::cuda {

/// Products as fast engines make them: the library's first heuristic for each shape and M, with a
/// workspace of 64 MiB, so that K is split where M is small. A row's bits may change with M.
/// The heuristic is asked when an M is first seen, which does no work on the stream.
std::unique_ptr<Gemm> MakeDefaultGemm();

}  // namespace detcheck::cuda
