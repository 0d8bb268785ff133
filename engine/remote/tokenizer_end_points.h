#pragma once

#include <string>
#include <vector>

namespace detcheck {

/// How a server's tokenizer is asked, as data. Of several paths the first that the server has is
/// asked: releases spell them differently.
struct TokenizerEndPoints {
  std::vector<std::string> encode;  ///< POST; empty: the server has none.
  std::string constants = "{}";     ///< JSON: what is sent beside the text.
  std::string text;                 ///< Field of the text that is sent.
  /// Field that says whether special tokens are put around the text; empty: they always are.
  std::string add_special;
  /// Field of the IDs in the answer; empty: the answer is their list. IDs stand for themselves or
  /// are the "id" of an object.
  std::string ids;
  std::vector<std::string> decode;      ///< POST {"tokens": [...]}; empty: the server has none.
  std::string decode_constants = "{}";  ///< JSON: what is sent beside the IDs.
  std::string decoded;                  ///< Field of the text in the answer.
};

}  // namespace detcheck
