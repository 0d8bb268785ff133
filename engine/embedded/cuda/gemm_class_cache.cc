#include "engine/embedded/cuda/gemm_class_cache.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/sha256.h"
#include "engine/embedded/cuda/check.h"

namespace detcheck::cuda {
namespace {

using Json = nlohmann::json;

// Changes when the format does, or when what makes a choice valid does.
constexpr const char* kFormat = "detcheck.gemm-class/1";

std::string CacheDirectory() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/detcheck";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.cache/detcheck";
  return "";
}

Json KeyJson(const GemmClassKey& key) {
  return {{"gpu", key.gpu},
          {"num_sms", key.num_sms},
          {"driver_version", key.driver_version},
          {"cublaslt_version", key.cublaslt_version},
          {"n", key.shape.n},
          {"k", key.shape.k},
          {"output", key.shape.output == GemmOutput::kBf16 ? "bf16" : "float32"},
          {"max_m", key.max_m}};
}

// The opaque words of a configuration as hexadecimal digits: JSON numbers do not carry 64 bits.
Json AlgoJson(const cublasLtMatmulAlgo_t& algo) {
  Json words = Json::array();
  for (const uint64_t word : algo.data) {
    std::array<char, 16> digits;
    const std::to_chars_result end =
        std::to_chars(digits.data(), digits.data() + digits.size(), word, 16);
    words.push_back(std::string(digits.data(), end.ptr));
  }
  return words;
}

cublasLtMatmulAlgo_t AlgoOf(const Json& words) {
  cublasLtMatmulAlgo_t algo;
  for (size_t i = 0; i < std::size(algo.data); ++i) {
    const auto& text = words.at(i).get_ref<const std::string&>();
    const char* end = text.data() + text.size();
    if (std::from_chars(text.data(), end, algo.data[i], 16).ptr != end || text.empty()) {
      throw std::invalid_argument("not a hexadecimal word");
    }
  }
  return algo;
}

Json ClassJson(const GemmClass& choice) {
  Json buckets = Json::array();
  for (const GemmBucket& bucket : choice.buckets) {
    buckets.push_back({{"max_m", bucket.max_m}, {"algo", AlgoJson(bucket.algo)}});
  }
  return {{"reference", AlgoJson(choice.reference)}, {"buckets", std::move(buckets)}};
}

// Throws on anything that ClassJson does not write.
GemmClass ClassOf(const Json& json, const GemmClassKey& key) {
  GemmClass choice;
  choice.reference = AlgoOf(json.at("reference"));
  for (const Json& bucket : json.at("buckets")) {
    choice.buckets.push_back({bucket.at("max_m").get<int>(), AlgoOf(bucket.at("algo"))});
  }
  std::vector<int> edges;
  for (const GemmBucket& bucket : choice.buckets) edges.push_back(bucket.max_m);
  if (edges != GemmBucketEdges(key.max_m)) throw std::invalid_argument("other buckets");
  return choice;
}

}  // namespace

GemmClassKey MakeGemmClassKey(const GemmShape& shape, int max_m) {
  int device = 0;
  cudaDeviceProp properties;
  GemmClassKey key;
  DETCHECK_CUDA(cudaGetDevice(&device));
  DETCHECK_CUDA(cudaGetDeviceProperties(&properties, device));
  DETCHECK_CUDA(cudaDriverGetVersion(&key.driver_version));
  key.gpu = properties.name;
  key.num_sms = properties.multiProcessorCount;
  key.cublaslt_version = CublasLtVersion();
  key.shape = shape;
  key.max_m = max_m;
  return key;
}

std::string GemmClassPath(const GemmClassKey& key) {
  const std::string directory = CacheDirectory();
  if (directory.empty()) return "";
  return directory + "/gemm-" + Sha256Hex(KeyJson(key).dump()).substr(0, 16) + ".json";
}

std::optional<GemmClass> LoadGemmClass(const GemmClassKey& key) {
  std::ifstream file(GemmClassPath(key), std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  try {
    const Json json = Json::parse(text.str());
    const Json& choice = json.at("class");
    if (json.at("format") != kFormat || json.at("key") != KeyJson(key) ||
        json.at("class_sha256") != Sha256Hex(choice.dump())) {
      return std::nullopt;
    }
    return ClassOf(choice, key);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void StoreGemmClass(const GemmClassKey& key, const GemmClass& choice) {
  const std::string path = GemmClassPath(key);
  if (path.empty()) return;
  const Json class_json = ClassJson(choice);
  const Json json = {{"format", kFormat},
                     {"key", KeyJson(key)},
                     {"class", class_json},
                     {"class_sha256", Sha256Hex(class_json.dump())}};
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const std::string draft = path + "." + std::to_string(getpid());
  std::ofstream file(draft, std::ios::binary);
  file << json.dump(1) << '\n';
  file.close();
  if (file) std::filesystem::rename(draft, path, ignored);
  std::filesystem::remove(draft, ignored);
}

}  // namespace detcheck::cuda
