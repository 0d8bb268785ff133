#pragma once

namespace detcheck::cpu {

/// The format that results are rounded to, ties to even; they are kept as float32.
enum class Rounding { kNone, kBf16, kF16 };

}  // namespace detcheck::cpu
