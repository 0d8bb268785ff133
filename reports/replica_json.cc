#include "reports/replica_json.h"

#include "reports/manifest_json.h"
#include "reports/record_json.h"

namespace detcheck {

void WriteReplicas(const std::vector<Replica>& replicas, JsonText* json) {
  json->BeginArray();
  for (const Replica& replica : replicas) {
    json->BeginObject();
    if (!replica.ended_early.empty()) WriteText("ended_early", replica.ended_early, json);
    json->Key("facts");
    WriteFacts(replica.facts, json);
    WriteText("label", replica.label, json);
    json->Key("subject");
    WriteManifest(replica.subject, json);
    json->EndObject();
  }
  json->EndArray();
}

std::vector<Replica> ReadReplicas(const JsonValue& value) {
  std::vector<Replica> replicas;
  for (const JsonValue& item : value.Items()) {
    item.CheckFields({"ended_early", "facts", "label", "subject"});
    Replica replica;
    replica.ended_early = OptionalTextOf(item, "ended_early").value_or("");
    replica.facts = ReadFacts(item.At("facts"));
    replica.label = OptionalTextOf(item, "label").value_or("");
    replica.subject = ReadManifest(item.At("subject"));
    replicas.push_back(std::move(replica));
  }
  if (replicas.size() < 2) value.Fail("fewer than two");
  return replicas;
}

}  // namespace detcheck
