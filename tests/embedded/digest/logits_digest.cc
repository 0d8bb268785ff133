// One SHA-256 over all logits of a fixed run of the deterministic CPU engine: prompts of three
// lengths, prefilled together in chunks, and 32 decoded tokens each, on two synthetic models. The
// digest is the same on every machine, with every SIMD level and number of threads.
//
//     logits_digest [--simd LEVEL] [--threads N] [--expect FILE]
//
// LEVEL: baseline, avx2, avx512, neon, or "every" for each that this processor has in turn. With
// --expect the first word of FILE must be the digest, else the exit code is 1.
#include <atomic>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/rng.h"
#include "engine/base/sha256.h"
#include "engine/embedded/cpu/dispatch.h"
#include "engine/embedded/engine.h"

namespace detcheck {
namespace {

constexpr int kPromptLens[] = {1, 23, 300};
constexpr int kNumDecoded = 32;

std::vector<BatchItem> Items(int vocab_size) {
  Rng rng(20260101);
  std::vector<BatchItem> items;
  for (const int len : kPromptLens) {
    BatchItem item;
    for (int i = 0; i < len; ++i) item.request.prompt_ids.push_back(rng.Between(0, vocab_size - 1));
    item.request.max_new_tokens = kNumDecoded + 1;
    items.push_back(item);
  }
  return items;
}

/// Adds the digests of all positions' logits, item by item, to `sha`.
void AddLogits(const std::string& model, const std::string& simd, int num_threads, Sha256* sha) {
  EngineOptions options;
  options.model = model;
  options.deterministic = true;
  options.simd_level = simd;
  options.num_threads = num_threads;
  options.chunked_prefill_size = 64;
  options.max_total_tokens = 1024;
  Engine engine(options, CpuDevice());
  const auto items = Items(engine.config().vocab_size);
  std::vector<std::string> digests(items.size());
  const std::atomic<bool> stop = false;
  engine.Run(items, stop, nullptr,
             [&](int item, int, const std::string& digest) { digests[item] += digest + "\n"; });
  for (const std::string& digest : digests) sha->Update(digest);
}

std::string LogitsDigest(const std::string& simd, int num_threads) {
  Sha256 sha;
  AddLogits("synthetic:tiny", simd, num_threads, &sha);
  AddLogits("synthetic:tiny-qwen3", simd, num_threads, &sha);
  return sha.HexDigest();
}

struct Arguments {
  std::string simd;
  int num_threads = 1;
  std::string expect;
};

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(std::string(name) + ": a value is missing");
    if (name == "--simd") {
      arguments.simd = argv[i + 1];
    } else if (name == "--threads") {
      arguments.num_threads = std::stoi(argv[i + 1]);
    } else if (name == "--expect") {
      arguments.expect = argv[i + 1];
    } else {
      throw std::invalid_argument(std::string(name) + ": no such argument");
    }
  }
  return arguments;
}

std::string ReadExpected(const std::string& file) {
  std::ifstream in(file);
  std::string digest;
  if (!(in >> digest)) throw std::runtime_error(file + ": no digest in it");
  return digest;
}

int Run(const Arguments& arguments) {
  std::vector<std::string> levels = {arguments.simd};
  if (arguments.simd == "every") {
    levels.clear();
    for (const auto level : cpu::AvailableLevels()) levels.push_back(cpu::SimdLevelName(level));
  }
  const std::string expected = arguments.expect.empty() ? "" : ReadExpected(arguments.expect);
  bool all_equal = true;
  for (const std::string& level : levels) {
    const std::string digest = LogitsDigest(level, arguments.num_threads);
    const bool equal = expected.empty() || digest == expected;
    all_equal = all_equal && equal;
    std::printf("%s  %s%s\n", digest.c_str(), level.empty() ? "best" : level.c_str(),
                equal ? "" : "  DIFFERS from the golden digest");
  }
  return all_equal ? 0 : 1;
}

}  // namespace
}  // namespace detcheck

int main(int argc, char** argv) {
  try {
    return detcheck::Run(detcheck::Parse(argc, argv));
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 2;
  }
}
