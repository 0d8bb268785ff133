#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace detcheck {

/// One line of a page of metrics.
struct MetricSample {
  std::string name;    ///< With its suffix: "vllm:prefix_cache_hits_total".
  std::string labels;  ///< What stands between the braces.
  double value = 0.0;

  /// The value of a label; empty where it is not there.
  std::string Label(std::string_view label) const;
};

/// Metrics in Prometheus' text format. Lines that cannot be read are passed over.
class Metrics {
 public:
  explicit Metrics(std::string_view page);

  /// The first sample of that name, or null.
  const MetricSample* Find(std::string_view name) const;
  /// Over all samples of the name, whatever their labels; absent where there is none.
  std::optional<double> Sum(std::string_view name) const;
  std::optional<double> Max(std::string_view name) const;

 private:
  std::vector<MetricSample> samples_;
};

}  // namespace detcheck
