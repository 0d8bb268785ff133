// Property: in deterministic mode the logits of every position are those of a solo prefill of the
// tokens up to it, bit for bit, however the engine was scheduled.
//
//     schedule_property_test [--model synthetic:tiny] [--schedules 1000] [--seed 1]
//                            [--mode deterministic|default] [--engine cpu|cuda]
//                            [--attention-backend NAME] [--seconds 0]
//
// On the CPU the engines have 1 to 8 threads and the schedules are small; with CUDA one engine runs
// graphs and one call by call, and the schedules are large. --seconds: no new schedule after so
// long.
//
// Draws schedules, compares every position that was computed, prints what was exercised. Exit
// code 1: a position differed, or an axis was not exercised. Default mode is there to show that the
// test can fail.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/cuda_device.h"
#include "engine/embedded/batch_run.h"
#include "engine/embedded/device.h"
#include "engine/embedded/scheduler.h"
#include "tests/embedded/schedule_draw.h"
#include "tests/embedded/schedule_reference.h"

namespace detcheck {
namespace {

constexpr int kMostThreads = 8;
constexpr int kMostPageSize = 64;
const std::set<std::string> kExtremes = {"largest chunk", "longest prompt", "ran with 1",
                                         "ran with the most", "smallest chunk"};

struct Arguments {
  EngineOptions engine;
  std::string device = "cpu";
  int num_schedules = 1000;
  uint64_t seed = 1;
  double seconds = 0;
};

/// An engine's settings and what it is called among the axes.
struct EngineVariant {
  std::string name;
  EngineOptions options;
};

EngineDevice DeviceOf(const Arguments& arguments) {
  if (arguments.device == "cpu") return CpuDevice();
  std::string why_not;
  const std::optional<EngineDevice> cuda = FindCudaDevice(&why_not);
  if (!cuda) throw std::runtime_error(why_not);
  return *cuda;
}

std::vector<EngineVariant> Variants(const Arguments& arguments) {
  std::vector<EngineVariant> variants;
  if (arguments.device == "cpu") {
    for (int threads = 1; threads <= kMostThreads; ++threads) {
      variants.push_back({"threads " + std::to_string(threads), arguments.engine});
      variants.back().options.num_threads = threads;
    }
    return variants;
  }
  for (const bool graph : {true, false}) {
    variants.push_back({graph ? "graphs" : "call by call", arguments.engine});
    variants.back().options.cuda_graph = graph;
  }
  return variants;
}

ScheduleRanges RangesOf(const Arguments& arguments) {
  const auto num_engines = static_cast<int>(Variants(arguments).size());
  return arguments.device == "cpu" ? ScheduleRanges::Tiny(num_engines)
                                   : ScheduleRanges::Large(num_engines);
}

/// How often each axis was exercised.
struct Tally {
  int64_t positions = 0;
  int64_t recomputed = 0;  ///< Positions computed more than once for one item.
  int64_t tokens = 0;      ///< Of prompts and answers.
  int64_t answers = 0;     ///< Answers compared with an earlier one to the same request.
  std::map<std::string, int64_t> axes;
  std::set<int> page_sizes, chunk_sizes, slots;
};

/// One computed position: the digest that the scheduler's observer was told.
struct Observation {
  int item = 0;
  int position = 0;
  std::string digest;
};

class PropertyTest {
 public:
  explicit PropertyTest(const Arguments& arguments)
      : arguments_(arguments),
        ranges_(RangesOf(arguments)),
        max_len_(ranges_.most_prompt() + ranges_.most_new_tokens),
        variants_(Variants(arguments)),
        reference_(DeviceOf(arguments), arguments.engine, max_len_) {
    // A pool's pages hold at most so many tokens, whatever the page size.
    const int num_slots = ranges_.pool_tokens + max_len_ + 64 + 4 * kMostPageSize;
    for (const EngineVariant& variant : variants_) {
      tally_.axes[variant.name] = 0;
      engines_.emplace_back(DeviceOf(arguments), variant.options,
                            ranges_.most_chunk + ranges_.most_items, num_slots);
    }
  }

  int Run() {
    const auto begin = std::chrono::steady_clock::now();
    const auto seconds = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    ScheduleDraw draw(arguments_.seed, engines_[0].config.vocab_size, ranges_);
    for (schedule_ = 0; schedule_ < arguments_.num_schedules; ++schedule_) {
      if (arguments_.seconds > 0 && seconds() > arguments_.seconds) break;
      RunSchedule(&draw);
    }
    Print();
    return num_differing_ == 0 && AllExercised() ? 0 : 1;
  }

 private:
  void RunSchedule(ScheduleDraw* draw) {
    setup_ = draw->Setup();
    std::vector<BatchItem> items = draw->Batch(setup_, {});
    KvPool pool(draw->NumPages(setup_, items), setup_.page_size, setup_.placement_seed);
    SequencePages pages(&pool, setup_.radix_cache);
    std::vector<std::vector<TokenId>> earlier;
    for (int batch = 0; batch < setup_.num_batches; ++batch) {
      if (batch > 0) items = draw->Batch(setup_, earlier);
      RunBatch(items, &pages, &earlier);
    }
    if (pages.num_free() + pages.num_cached() != pages.num_pages()) Fail("a page was lost");
    tally_.page_sizes.insert(setup_.page_size);
    tally_.chunk_sizes.insert(setup_.chunked_prefill_size);
    ++tally_.axes[variants_[setup_.engine].name];
    tally_.axes["smallest chunk"] += setup_.chunked_prefill_size == ranges_.least_chunk;
    tally_.axes["largest chunk"] += setup_.chunked_prefill_size == ranges_.most_chunk;
    ++tally_.axes[setup_.radix_cache ? "radix cache on" : "radix cache off"];
  }

  void RunBatch(const std::vector<BatchItem>& items, SequencePages* pages,
                std::vector<std::vector<TokenId>>* earlier) {
    LoadedOps& engine = engines_[setup_.engine];
    const SchedulerLimits limits{.chunked_prefill_size = setup_.chunked_prefill_size,
                                 .max_running_requests = setup_.max_running_requests,
                                 .context_len = max_len_,
                                 .vocab_size = engine.config.vocab_size,
                                 .eos_ids = {}};
    std::vector<Observation> seen;
    Scheduler scheduler(
        limits, pages,
        {engine.ops.get(), [&](const StepBatch& step) { engine.model->Forward(step); }},
        [&](int item, int position, const std::string& digest) {
          seen.push_back({item, position, digest});
        });
    const std::atomic<bool> stop = false;
    const BatchResult result = detcheck::RunBatch(&scheduler, items, stop, nullptr);
    Compare(items, result, seen);
    Count(items, result, *earlier);
    for (size_t i = 0; i < items.size(); ++i) {
      earlier->push_back(items[i].request.prompt_ids);
      const auto& answer = result.completions[i].token_ids;
      earlier->back().insert(earlier->back().end(), answer.begin(), answer.end());
    }
  }

  void Compare(const std::vector<BatchItem>& items, const BatchResult& result,
               const std::vector<Observation>& seen) {
    std::vector<std::vector<std::string>> expected(items.size());
    std::set<std::pair<int, int>> positions;
    for (size_t i = 0; i < items.size(); ++i) {
      const Completion& completion = result.completions[i];
      if (completion.finish_reason == FinishReason::kError) continue;
      std::vector<TokenId> ids = items[i].request.prompt_ids;
      ids.insert(ids.end(), completion.token_ids.begin(), completion.token_ids.end() - 1);
      expected[i] = reference_.Digests(ids);
      CompareAnswer(items[i].request, completion.token_ids);
    }
    for (const auto& [item, position, digest] : seen) {
      if (!positions.emplace(item, position).second) ++tally_.recomputed;
      ++tally_.positions;
      if (expected[item].at(position) == digest) continue;
      Fail("item " + std::to_string(item) + ", position " + std::to_string(position));
    }
  }

  /// Equal requests are answered alike as far as both answers go.
  void CompareAnswer(const Request& request, const std::vector<TokenId>& answer) {
    const Sampling& s = request.sampling;
    const auto [known, is_new] = answers_.try_emplace(
        {request.prompt_ids, s.temperature, s.top_p, s.top_k, s.min_p, s.seed}, answer);
    if (is_new) return;
    ++tally_.answers;
    const size_t len = std::min(answer.size(), known->second.size());
    if (!std::equal(answer.begin(), answer.begin() + static_cast<int64_t>(len),
                    known->second.begin())) {
      Fail("equal requests got different tokens");
    }
    if (answer.size() > len) known->second = answer;
  }

  void Count(const std::vector<BatchItem>& items, const BatchResult& result,
             const std::vector<std::vector<TokenId>>& earlier) {
    auto& axes = tally_.axes;
    int formed = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      const Completion& completion = result.completions[i];
      const Witness& witness = completion.witness;
      if (completion.finish_reason == FinishReason::kError) {
        ++axes["refused"];
        continue;
      }
      tally_.slots.insert(*witness.slot);
      formed = std::max(formed, *witness.formed_size);
      axes["longest prompt"] += *completion.prompt_tokens == ranges_.most_prompt();
      tally_.tokens +=
          *completion.prompt_tokens + static_cast<int64_t>(completion.token_ids.size());
      axes["preemptions"] += *witness.preemptions;
      axes["cache hits"] += *witness.cached_tokens > 0;
      axes["cache hits in a later batch"] += *witness.cached_tokens > 0 && !earlier.empty();
      axes["chunk cuts"] += static_cast<int64_t>(witness.chunk_ends.size());
      axes["decoded beside prefill"] += *witness.same_step_prefill_tokens > 0;
      axes["bypass"] += items[i].request.cache == CacheWish::kBypass;
      axes["aborted"] += completion.finish_reason == FinishReason::kAbort;
      axes["released at once"] += items[i].release.kind == Release::Kind::kAtOnce;
      axes["released after tokens"] += items[i].release.kind == Release::Kind::kAfterTokens;
      axes["released at a step"] += items[i].release.kind == Release::Kind::kAtEngineStep;
      axes["temperature > 0"] += items[i].request.sampling.temperature > 0;
      axes["ran with 4 or more"] += *witness.formed_size >= 4;
      axes["prompt over 2 chunks"] += witness.chunk_ends.size() >= 2;
      axes["prompt over 2 pages"] += *completion.prompt_tokens > 2 * setup_.page_size;
    }
    axes["ran with 1"] += formed == 1;
    axes["ran with the most"] += formed == ranges_.most_items;
  }

  void Fail(const std::string& what) {
    if (++num_differing_ > 20) return;
    std::printf("FAIL seed %llu, schedule %d: %s (%s, chunk %d, page %d, radix cache %d)\n",
                static_cast<unsigned long long>(arguments_.seed), schedule_, what.c_str(),
                variants_[setup_.engine].name.c_str(), setup_.chunked_prefill_size,
                setup_.page_size, setup_.radix_cache);
  }

  void Print() const {
    std::printf("%s: %d schedules, %lld positions compared (%lld of them computed again), ",
                arguments_.engine.model.c_str(), schedule_,
                static_cast<long long>(tally_.positions),
                static_cast<long long>(tally_.recomputed));
    std::printf("%lld reference positions, %lld answers compared: %lld differ\n",
                static_cast<long long>(reference_.num_positions()),
                static_cast<long long>(tally_.answers), static_cast<long long>(num_differing_));
    std::printf("  %lld tokens of requests\n", static_cast<long long>(tally_.tokens));
    std::printf("  %zu page sizes, %zu chunk sizes, %zu slots\n", tally_.page_sizes.size(),
                tally_.chunk_sizes.size(), tally_.slots.size());
    for (const auto& [name, count] : tally_.axes) {
      std::printf("  %-28s %lld\n", name.c_str(), static_cast<long long>(count));
    }
  }

  /// Each axis at least once in 20 schedules; an engine and an extreme once in 40, and 3 times.
  bool AllExercised() const {
    bool all = tally_.slots.size() >= 5 && tally_.page_sizes.size() >= 5;
    for (const auto& [name, count] : tally_.axes) {
      if (name == "refused") continue;
      const bool rare = name.starts_with("threads") || kExtremes.contains(name);
      const int64_t least =
          std::max<int64_t>(rare ? std::min(schedule_, 3) : 1, rare ? 0 : schedule_ / 20);
      if (count >= least) continue;
      std::printf("FAIL: not exercised often enough (%lld wanted): %s\n",
                  static_cast<long long>(least), name.c_str());
      all = false;
    }
    return all;
  }

  using RequestKey = std::tuple<std::vector<TokenId>, double, double, int, double, uint64_t>;

  const Arguments arguments_;
  const ScheduleRanges ranges_;
  const int max_len_;
  const std::vector<EngineVariant> variants_;
  ScheduleReference reference_;
  std::vector<LoadedOps> engines_;  ///< One for each variant.
  std::map<RequestKey, std::vector<TokenId>> answers_;
  int schedule_ = 0;
  ScheduleSetup setup_;
  Tally tally_;
  int64_t num_differing_ = 0;
};

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  arguments.engine.deterministic = true;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--model") {
      arguments.engine.model = value;
    } else if (name == "--schedules") {
      arguments.num_schedules = std::stoi(value);
    } else if (name == "--seed") {
      arguments.seed = std::stoull(value);
    } else if (name == "--engine") {
      arguments.device = value;
    } else if (name == "--attention-backend") {
      arguments.engine.attention_backend = value;
    } else if (name == "--seconds") {
      arguments.seconds = std::stod(value);
    } else if (name == "--mode" && (value == "deterministic" || value == "default")) {
      arguments.engine.deterministic = value == "deterministic";
    } else {
      throw std::invalid_argument(std::string(name) + " " + value + ": no such argument");
    }
  }
  return arguments;
}

}  // namespace
}  // namespace detcheck

int main(int argc, char** argv) {
  try {
    return detcheck::PropertyTest(detcheck::Parse(argc, argv)).Run();
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 2;
  }
}
