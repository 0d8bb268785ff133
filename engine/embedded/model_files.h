#pragma once

#include <string>

#include "engine/backend.h"

namespace detcheck {

/// Manifest fields of what lies in a Hugging Face model directory beside the weights:
///
///     model.id, model.revision     of a directory in the hub's cache ("models--OWNER--NAME/
///                                  snapshots/REVISION"); the revision also where the hub's client
///                                  downloaded into the directory itself
///     model.config_sha256          of config.json
///     model.tokenizer_sha256       of tokenizer.json
///     model.chat_template_sha256   of chat_template.jinja, else of the text in
///                                  tokenizer_config.json
///
/// What the directory does not tell is unknown. Reads the files anew at each call. Throws
/// Error(kInput) for a file that cannot be read and a tokenizer_config.json that is no JSON.
Manifest DescribeModelFiles(const std::string& dir);

/// Name of the model in `dir`, without private names: the NAME of a directory in the hub's cache,
/// else the directory's own.
std::string ModelNameOf(const std::string& dir);

}  // namespace detcheck
