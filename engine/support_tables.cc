#include "engine/support_tables.h"

#include "engine/embedded/embedded_support.h"

namespace detcheck {

std::vector<SupportTable> OwnSupportTables() {
  return EmbeddedSupportTables();
}

}  // namespace detcheck
