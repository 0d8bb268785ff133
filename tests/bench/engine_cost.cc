// What deterministic mode costs on the GPU, and how far the engine is from what the hardware can
// do: both modes of one model in one process, measured in turns.
//
//   engine_cost [--model synthetic:qwen3-8b] [--attention-backend flash] [--rounds 5]
//
// Prints one JSON object: ceilings (copy bandwidth, matrix rate), and for each cell the tokens per
// second of both modes, their ratio with the least and greatest of the rounds, and the distance to
// the ceiling. Keys and values of the context are zeros but for what the steps write themselves.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cuda_device.h"
#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/device_memory.h"
#include "engine/embedded/cuda/gemm.h"
#include "engine/embedded/cuda/synthetic_fill.h"
#include "engine/embedded/model.h"
#include "engine/embedded/model_dir.h"

namespace detcheck {
namespace {

constexpr int kMostPrefill = 8192;
constexpr int kMostSequences = 128;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

struct Cell {
  int num_sequences;
  int context_len;  ///< Tokens before the first timed step; prefill: 0.
  int num_tokens;   ///< Of each sequence in a step.
  int num_steps;    ///< Timed at once.

  bool prefill() const { return num_tokens > 1; }
  int num_slots() const { return num_sequences * slots_per_sequence(); }
  int slots_per_sequence() const { return context_len + num_tokens * (num_steps + 4); }
};

/// One mode of the engine without its scheduler.
class Contender {
 public:
  Contender(const EngineDevice& device, EngineOptions options, bool deterministic) {
    options.deterministic = deterministic;
    LoadedModel loaded = LoadModel(options);
    config_ = loaded.config;
    const int max_rows = kMostPrefill + kMostSequences;
    ops_ = device.make_ops(config_, options, {max_rows, kMostSequences, kMostSequences});
    model_ = std::make_unique<Model>(config_, loaded.weights.get(), ops_.get(), max_rows);
  }

  const ModelConfig& config() const { return config_; }
  Manifest Describe() const { return ops_->Describe(); }

  /// Seconds of one step of `cell`, warmed up. Holds a KV cache only while it runs.
  double Time(const Cell& cell) {
    ops_->AllocateKvCache(cell.num_slots());
    slots_.resize(static_cast<size_t>(cell.num_slots()));
    for (size_t i = 0; i < slots_.size(); ++i) slots_[i] = static_cast<int32_t>(i);
    int position = cell.context_len;
    for (int i = 0; i < 3; ++i) Step(cell, cell.prefill() ? 0 : position++);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < cell.num_steps; ++i) Step(cell, cell.prefill() ? 0 : position++);
    const double seconds = Seconds(begin) / cell.num_steps;
    ops_->AllocateKvCache(1);
    return seconds;
  }

 private:
  void Step(const Cell& cell, int start_pos) {
    StepBatch batch;
    for (int seq = 0; seq < cell.num_sequences; ++seq) {
      const int32_t* slots = &slots_[static_cast<size_t>(seq) * cell.slots_per_sequence()];
      batch.sequences.push_back({batch.num_rows(), cell.num_tokens, start_pos, slots});
      for (int i = 0; i < cell.num_tokens; ++i) {
        batch.ids.push_back((1000 + 37 * seq + 11 * (start_pos + i)) % config_.vocab_size);
        batch.positions.push_back(start_pos + i);
        batch.slots.push_back(slots[start_pos + i]);
      }
      batch.logit_rows.push_back(batch.num_rows() - 1);
    }
    const std::vector<RowSampling> rows(batch.logit_rows.size());
    model_->Forward(batch);
    ops_->Sample(rows);
  }

  ModelConfig config_;
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Model> model_;
  std::vector<int32_t> slots_;
};

/// Bytes read plus written per second by copies of 2 GiB within the device.
double CopyBandwidth() {
  constexpr size_t kBytes = size_t{2} << 30;
  const cuda::DeviceBuffer from(kBytes);
  const cuda::DeviceBuffer to(kBytes);
  DETCHECK_CUDA(cudaMemset(from.as<void>(), 1, kBytes));
  const cuda::Stream stream;
  std::vector<double> rates;
  for (int i = 0; i < 9; ++i) {
    cuda::Event begin;
    cuda::Event end;
    begin.Record(stream.get());
    DETCHECK_CUDA(cudaMemcpyAsync(to.as<void>(), from.as<void>(), kBytes, cudaMemcpyDeviceToDevice,
                                  stream.get()));
    end.Record(stream.get());
    end.Synchronize();
    rates.push_back(2.0 * kBytes / (end.MillisecondsSince(begin) * 1e-3));
  }
  return Median(rates);
}

/// Operations per second of a bf16 product of 8,192³ on random data, by the default heuristic.
double MatrixRate() {
  constexpr int64_t kSize = 8192;
  const auto bytes = static_cast<size_t>(kSize * kSize) * sizeof(__nv_bfloat16);
  const cuda::DeviceBuffer x(bytes);
  const cuda::DeviceBuffer w(bytes);
  const cuda::DeviceBuffer out(bytes);
  const cuda::Stream stream;
  uint32_t index = 0;
  for (const cuda::DeviceBuffer* buffer : {&x, &w}) {
    const SyntheticTensor tensor{7, index++, 0.0f, SyntheticTensor::ScaleOf(1.0)};
    cuda::FillSynthetic(tensor, kSize * kSize, buffer->as<__nv_bfloat16>(), stream.get());
  }
  const auto gemm = cuda::MakeGemm(/*deterministic=*/false);
  const cuda::GemmShape shape{.n = kSize, .k = kSize};
  gemm->Prepare(shape, kSize);
  std::vector<double> rates;
  for (int i = 0; i < 15; ++i) {
    cuda::Event begin;
    cuda::Event end;
    begin.Record(stream.get());
    for (int j = 0; j < 4; ++j) {
      gemm->Run(shape, kSize, x.as<__nv_bfloat16>(), w.as<__nv_bfloat16>(), out.as<void>(),
                stream.get());
    }
    end.Record(stream.get());
    end.Synchronize();
    rates.push_back(4 * 2.0 * kSize * kSize * kSize / (end.MillisecondsSince(begin) * 1e-3));
  }
  return Median(rates);
}

/// Elements of the matrices that every token is multiplied with, the head apart.
double LayerElements(const ModelConfig& c) {
  const double d = c.hidden_size;
  return c.num_layers * (d * c.qkv_width() + d * c.q_width() + 3.0 * d * c.intermediate_size);
}

double HeadElements(const ModelConfig& c) {
  return 1.0 * c.hidden_size * c.vocab_size;
}

/// Multiplications and additions of a prefill of `len` tokens with logits of its last one.
double PrefillOperations(const ModelConfig& c, double len) {
  const double attention = 4.0 * len * (len + 1) / 2 * c.q_width() * c.num_layers;
  return 2.0 * len * LayerElements(c) + 2.0 * HeadElements(c) + attention;
}

/// Ratios of deterministic to default speed, one of each round, are appended to `round_ratios`.
nlohmann::ordered_json Measure(const Cell& cell, int rounds, double copy_rate, double matrix_rate,
                               Contender* plain, Contender* deterministic,
                               std::vector<std::vector<double>>* round_ratios) {
  std::vector<double> plain_s;
  std::vector<double> deterministic_s;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const bool swap = round % 2 == 1;
    const double a = (swap ? deterministic : plain)->Time(cell);
    const double b = (swap ? plain : deterministic)->Time(cell);
    plain_s.push_back(swap ? b : a);
    deterministic_s.push_back(swap ? a : b);
    ratios.push_back(plain_s.back() / deterministic_s.back());
    (*round_ratios)[static_cast<size_t>(round)].push_back(ratios.back());
  }
  const double tokens = 1.0 * cell.num_sequences * cell.num_tokens;
  const ModelConfig& config = plain->config();
  nlohmann::ordered_json result = {
      {"work", cell.prefill() ? "prefill" : "decode"},
      {"batch", cell.num_sequences},
      {"context", cell.prefill() ? cell.num_tokens : cell.context_len},
      {"default_ms", 1e3 * Median(plain_s)},
      {"deterministic_ms", 1e3 * Median(deterministic_s)},
      {"default_tokens_per_s", tokens / Median(plain_s)},
      {"deterministic_tokens_per_s", tokens / Median(deterministic_s)},
      {"ratio", Median(ratios)},
      {"ratio_least", *std::min_element(ratios.begin(), ratios.end())},
      {"ratio_greatest", *std::max_element(ratios.begin(), ratios.end())}};
  if (cell.prefill()) {
    const double operations = PrefillOperations(config, cell.num_tokens);
    result["share_of_matrix_rate"] = operations / Median(deterministic_s) / matrix_rate;
  } else {
    const double weights = 2.0 * (LayerElements(config) + HeadElements(config));
    const double keys_and_values =
        2.0 * 2.0 * config.num_layers * config.kv_width() * cell.context_len * cell.num_sequences;
    result["times_weights_read"] = Median(deterministic_s) / (weights / copy_rate);
    result["times_weights_and_kv_read"] =
        Median(deterministic_s) / ((weights + keys_and_values) / copy_rate);
  }
  std::fprintf(stderr, "%s\n", result.dump().c_str());
  return result;
}

int Run(int argc, char** argv) {
  EngineOptions options;
  options.model = "synthetic:qwen3-8b";
  int rounds = 5;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--model") {
      options.model = argv[i + 1];
    } else if (name == "--attention-backend") {
      options.attention_backend = argv[i + 1];
    } else if (name == "--rounds") {
      rounds = std::stoi(argv[i + 1]);
    } else {
      throw std::invalid_argument(std::string(name) + ": no such argument");
    }
  }
  std::string why_not;
  const std::optional<EngineDevice> device = FindCudaDevice(&why_not);
  if (!device) throw std::runtime_error(why_not);
  options = ForDevice(*device, options);

  const double copy_rate = CopyBandwidth();
  const double matrix_rate = MatrixRate();
  const auto begin = std::chrono::steady_clock::now();
  Contender plain(*device, options, false);
  Contender deterministic(*device, options, true);
  nlohmann::ordered_json result = {{"model", options.model},
                                   {"attention_backend", options.attention_backend},
                                   {"rounds", rounds},
                                   {"start_up_s", Seconds(begin)},
                                   {"copy_bytes_per_s", copy_rate},
                                   {"matrix_operations_per_s", matrix_rate}};
  for (const ManifestField& field : deterministic.Describe()) {
    result["manifest"][field.name] = field.value;
  }
  std::vector<double> ratios;
  std::vector<std::vector<double>> round_ratios(static_cast<size_t>(rounds));
  for (const Cell& cell :
       {Cell{1, 1024, 1, 60}, Cell{8, 1024, 1, 60}, Cell{32, 1024, 1, 40}, Cell{64, 1024, 1, 30},
        Cell{128, 1024, 1, 30}, Cell{1, 8192, 1, 60}, Cell{8, 8192, 1, 40}, Cell{32, 8192, 1, 20},
        Cell{64, 8192, 1, 15}, Cell{1, 0, 1024, 8}, Cell{1, 0, 8192, 4}}) {
    result["cells"].push_back(
        Measure(cell, rounds, copy_rate, matrix_rate, &plain, &deterministic, &round_ratios));
    ratios.push_back(result["cells"].back()["ratio"]);
  }
  std::vector<double> medians;  // Over the cells, of each round.
  for (const std::vector<double>& round : round_ratios) medians.push_back(Median(round));
  result["median_ratio"] = Median(ratios);
  result["median_ratio_least_round"] = *std::min_element(medians.begin(), medians.end());
  result["median_ratio_greatest_round"] = *std::max_element(medians.begin(), medians.end());
  result["least_ratio"] = *std::min_element(ratios.begin(), ratios.end());
  std::printf("%s\n", result.dump(2).c_str());
  return 0;
}

}  // namespace
}  // namespace detcheck

int main(int argc, char** argv) {
  try {
    return detcheck::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 4;
  }
}
