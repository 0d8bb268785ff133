#pragma once

// Internal: included only from .cc files that read or write a format.

#include <vector>

#include "fixtures/json_reader.h"
#include "reports/json_text.h"
#include "reports/replica.h"

namespace detcheck {

/// [{"ended_early", "facts", "label", "subject"}, …], in the order of the replicas.
void WriteReplicas(const std::vector<Replica>& replicas, JsonText* json);
std::vector<Replica> ReadReplicas(const JsonValue& value);

}  // namespace detcheck
