#include "reports/manifest_fields.h"

#include <algorithm>
#include <array>
#include <vector>

#include "engine/base/sha256.h"

namespace detcheck {
namespace {

constexpr bool kIdentity = true;
constexpr bool kInformation = false;
constexpr bool kGpu = true;

constexpr auto kSubjectFields = std::to_array<FieldMeaning>({
    {"engine.name", kIdentity, false, "detcheck-cpu, sglang, vllm, ..."},
    {"engine.version", kIdentity, false, "release of the engine"},
    {"engine.commit", kIdentity, false,
     "source revision; of the embedded engine the harness has it, as detcheck.git_revision"},
    {"engine.fingerprint", kIdentity, false, "what the server calls its configuration as a whole"},
    {"engine.mode", kIdentity, false, "deterministic or default: what was asked for"},
    {"engine.determinism_claimed", kIdentity, false, "what the engine says of its mode"},
    {"engine.attention_backend", kIdentity, false, "attention kernels"},
    {"engine.sampling_backend", kIdentity, false, "how tokens are drawn"},
    {"engine.radix_cache", kIdentity, false, "prefix cache: on or off"},
    {"engine.page_size", kIdentity, false, "tokens of a KV page"},
    {"engine.chunked_prefill_size", kIdentity, false,
     "most prefill tokens of one engine step; off where prompts are never cut"},
    {"engine.max_running_requests", kIdentity, false, "most requests of one engine step"},
    {"engine.kv_pool_tokens", kIdentity, false, "tokens that the KV cache holds"},
    {"engine.kv_cache_dtype", kIdentity, false, "element type of the KV cache"},
    {"engine.cuda_graph", kIdentity, false, "on or off"},
    {"engine.schedule_policy", kIdentity, false, "order in which requests are admitted"},
    {"engine.speculative_decoding", kIdentity, false, "off, or the algorithm"},
    {"engine.arguments", kIdentity, false, "launch arguments that an allow-list lets through"},
    {"parallelism.tp_size", kIdentity, false, "ranks of tensor parallelism"},
    {"parallelism.pp_size", kIdentity, false, "stages of pipeline parallelism"},
    {"parallelism.dp_size", kIdentity, false, "replicas behind the endpoint"},
    {"parallelism.ep_size", kIdentity, false, "ranks of expert parallelism"},
    {"model.name", kIdentity, false, "name under which it is served; of a directory its own"},
    {"model.id", kIdentity, false, "OWNER/NAME on the hub"},
    {"model.revision", kIdentity, false, "revision on the hub, 40 hex digits"},
    {"model.architecture", kIdentity, false, "llama, qwen3, ..."},
    {"model.dtype", kIdentity, false, "element type of weights and activations"},
    {"model.quantization", kIdentity, false, "none, or the method"},
    {"model.context_len", kIdentity, false, "most tokens of a prompt with its answer"},
    {"model.vocab_size", kIdentity, false, "token IDs are below this"},
    {"model.weights_sha256", kIdentity, false,
     "of model.safetensors; of shards, of the lines that sha256sum writes for them"},
    {"model.weights_seed", kIdentity, false, "of synthetic weights"},
    {"model.weight_version", kIdentity, false, "what the server calls its weights"},
    {"model.config_sha256", kIdentity, false, "of config.json"},
    {"model.tokenizer_sha256", kIdentity, false, "of tokenizer.json"},
    {"model.chat_template_sha256", kIdentity, false,
     "of chat_template.jinja, else of the text in tokenizer_config.json"},
    {"kernels.mode", kIdentity, false, "deterministic or default: what the kernels do"},
    {"kernels.gemm", kIdentity, false, "how matrix products are made"},
    {"kernels.attention", kIdentity, false, "how attention is split and merged"},
    {"kernels.bit_classes", kIdentity, false, "for which shapes matrix products have equal bits"},
    {"kernels.verified", kIdentity, false, "what was verified on this device at the start"},
    {"kernels.openblas_config", kIdentity, false, "version and build of OpenBLAS, as it tells"},
    {"kernels.openblas_core", kIdentity, false, "the kernels that OpenBLAS took"},
    {"device.cpu_model", kIdentity, false, "the processor, as the kernel names it"},
    {"device.simd_level", kIdentity, false, "baseline, avx2, avx512 or neon: the kernels in use"},
    {"device.threads", kIdentity, false, "threads that compute"},
    {"device.gpu_name", kIdentity, kGpu, "of each GPU in use"},
    {"device.gpu_count", kIdentity, kGpu, "GPUs in use"},
    {"device.compute_capability", kIdentity, kGpu, "such as 9.0"},
    {"device.gpu_sm_count", kIdentity, kGpu, "streaming multiprocessors"},
    {"device.gpu_memory_bytes", kIdentity, kGpu, "memory of one GPU"},
    {"device.driver_version", kIdentity, kGpu, "of the GPU driver"},
    {"library.cuda_runtime", kIdentity, kGpu, "version in use"},
    {"library.cublas", kIdentity, kGpu, "version in use"},
    {"library.nccl", kIdentity, kGpu, "version in use"},
    {"process.start", kIdentity, false, "when the server's process started, where it tells"},
});

constexpr auto kHarnessFields = std::to_array<FieldMeaning>({
    {"detcheck.version", kInformation, false, "release"},
    {"detcheck.git_revision", kInformation, false, "commit of the source that was built"},
    {"detcheck.git_dirty", kInformation, false, "whether tracked files differed from it"},
    {"arguments", kInformation, false,
     "what bears on the run, as it was understood: paths by their last part, output options left "
     "out"},
    {"os", kInformation, false, "the distribution"},
    {"kernel", kInformation, false, "name and release"},
    {"machine", kInformation, false, "x86_64 or aarch64"},
    {"cpu.model", kInformation, false, "the processor, as the kernel names it"},
    {"cpu.count", kInformation, false, "processors that this process may use"},
    {"cpu.flags", kInformation, false, "instruction sets that decide which kernels run"},
    {"compiler", kInformation, false, "that built detcheck"},
    {"build_type", kInformation, false, "of CMake"},
    {"libc", kInformation, false, "version in use"},
    {"library.fmt", kInformation, false, "version of its headers"},
    {"library.nlohmann_json", kInformation, false, "version of its headers"},
    {"library.cli11", kInformation, false, "version of its headers"},
    {"library.cpp_httplib", kInformation, false, "version of its headers, or not built in"},
    {"library.valijson", kInformation, false,
     "built in, or not built in: its headers do not tell their version"},
    {"library.curl", kInformation, false, "version in use"},
    {"library.pcre2", kInformation, false, "version in use"},
    {"library.utf8proc", kInformation, false, "version in use"},
    {"library.loaded", kInformation, false,
     "files of the shared libraries in this process, by their last part"},
});

const FieldMeaning* Find(std::string_view name) {
  const auto it = std::find_if(kSubjectFields.begin(), kSubjectFields.end(),
                               [&](const FieldMeaning& field) { return field.name == name; });
  return it == kSubjectFields.end() ? nullptr : &*it;
}

// Of the first manifest that has a value for the field.
FieldSource SourceOfAny(const std::vector<std::pair<std::string, Manifest>>& named,
                        const std::string& field_name) {
  for (const auto& [name, manifest] : named) {
    for (const ManifestField& field : manifest) {
      if (field.name == field_name && !field.value.empty()) return field.source;
    }
  }
  return FieldSource::kUnknown;
}

}  // namespace

std::span<const FieldMeaning> SubjectFields() {
  return kSubjectFields;
}

std::span<const FieldMeaning> HarnessFields() {
  return kHarnessFields;
}

std::string FieldValue(const Manifest& manifest, std::string_view name) {
  for (const ManifestField& field : manifest) {
    if (field.name == name) return field.value;
  }
  return "";
}

Manifest WithUnknownFields(const Manifest& subject) {
  const bool has_gpu = FieldValue(subject, "engine.name") != "detcheck-cpu";
  Manifest manifest;
  for (const FieldMeaning& meaning : kSubjectFields) {
    const auto it = std::find_if(subject.begin(), subject.end(), [&](const ManifestField& field) {
      return field.name == meaning.name;
    });
    if (it != subject.end()) {
      manifest.push_back(*it);
    } else if (has_gpu || !meaning.gpu) {
      manifest.push_back({std::string(meaning.name), "", FieldSource::kUnknown});
    }
  }
  for (const ManifestField& field : subject) {
    if (Find(field.name) == nullptr) manifest.push_back(field);
  }
  return manifest;
}

Manifest CommonManifest(const std::vector<std::pair<std::string, Manifest>>& named) {
  Manifest common;
  for (const auto& [name, manifest] : named) {
    for (const ManifestField& field : manifest) {
      const bool is_there = std::any_of(common.begin(), common.end(),
                                        [&](const auto& one) { return one.name == field.name; });
      if (!is_there) common.push_back(field);
    }
  }
  for (ManifestField& field : common) {
    std::string all;
    bool differ = false;
    for (const auto& [name, manifest] : named) {
      const std::string value = FieldValue(manifest, field.name);
      differ = differ || value != field.value;
      all += (all.empty() ? "" : "; ") + name + ": " + (value.empty() ? "not known" : value);
    }
    if (!differ) continue;
    if (field.value.empty()) field.source = SourceOfAny(named, field.name);
    field.value = all;
  }
  return common;
}

std::string IdentityDigest(const Manifest& subject) {
  std::vector<std::string> lines;
  for (const ManifestField& field : subject) {
    const FieldMeaning* meaning = Find(field.name);
    if (meaning == nullptr || !meaning->identity || field.value.empty()) continue;
    // Lengths keep a name or value that holds a separator from looking like two fields.
    lines.push_back(std::to_string(field.name.size()) + ' ' + std::to_string(field.value.size()) +
                    ' ' + field.name + ' ' + field.value + '\n');
  }
  std::sort(lines.begin(), lines.end());
  Sha256 digest;
  for (const std::string& line : lines) digest.Update(line);
  return digest.HexDigest();
}

std::vector<std::string> DifferingIdentity(const Manifest& a, const Manifest& b) {
  std::vector<std::string> names;
  for (const FieldMeaning& meaning : kSubjectFields) {
    if (meaning.identity && FieldValue(a, meaning.name) != FieldValue(b, meaning.name)) {
      names.emplace_back(meaning.name);
    }
  }
  return names;
}

}  // namespace detcheck
