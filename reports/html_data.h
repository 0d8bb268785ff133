#pragma once

// Internal to the HTML page: what its script draws from.
//
//   {"cells": […], "outputs": [[id, …], …], "records": […], "requests": ["q01", …], "steps": […],
//    "traces": […]}
//
//   requests  Names of the planned requests.
//   steps     Of the plan: {"arm", "items": [request, …], "label"}.
//   records   Attempts: {"attempt", "spans": [[first, num, [item, tokens, …]], …], "step"}; tokens
//             is negative where the item decodes. No "spans": not known.
//   outputs   Distinct token sequences, once.
//   traces    Logprobs of the chosen tokens, packed as in reports (packed_logprobs.h), once.
//   cells     One for each request in each mode, in the order of CollectCells:
//     variants  Distinct answers, that of the reference first: {"count": samples, "name": "B2",
//               "output", "trace" (absent: no logprobs)}, and those that leave the reference also
//               {"cause", "index", "lp_index", "text": [common, expected, actual], "tops",
//               "ref_tops"}. `tops`: [{"at": position, "logprobs": …}, …], every
//               candidate, around the places where the variant leaves the reference; `ref_tops` the
//               same of the reference.
//     samples   Columns, grouped by variant, in its order: "item", "record", "size" (formed, else
//               planned), "where" (in words), and "len" (tokens) where some were cut short.
//     reference Index into samples.
//
// The text is JSON with every `<` written as an escape, so that it can stand in a script block.

#include <string>
#include <vector>

#include "reports/html_cells.h"

namespace detcheck {

std::string HtmlData(const Report& report, const std::vector<HtmlCell>& cells);

}  // namespace detcheck
