#include "engine/base/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace detcheck {
namespace {

struct Vector {
  std::string message;
  std::string digest;
};

// FIPS 180-4 examples, NIST's additional SHA-256 examples, and two of the CAVP short messages.
TEST(Sha256, PublishedVectors) {
  const Vector vectors[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopq"
       "klmnopqrlmnopqrsmnopqrstnopqrstu",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
      {"\xbd", "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"},
      {"\xc9\x8c\x8e\x55", "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504"},
      {std::string(55, '\0'), "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7"},
      {std::string(56, '\0'), "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb"},
      {std::string(57, '\0'), "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785"},
      {std::string(64, '\0'), "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"},
      {std::string(1000, '\0'), "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53"},
      {std::string(1000, 'A'), "c2e686823489ced2017f6059b8b239318b6364f6dcd835d0a519105a1eadd6e4"},
      {std::string(1005, 'U'), "f4d62ddec0f3dd90ea1380fa16a5ff8dc4c54b21740650f24afc4120903552b0"},
      {std::string(1000000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const Vector& vector : vectors) {
    EXPECT_EQ(Sha256Hex(vector.message), vector.digest) << vector.message.size() << " bytes";
  }
}

TEST(Sha256, PiecesGiveTheDigestOfTheWhole) {
  std::string message;
  for (int i = 0; i < 200; ++i) message += static_cast<char>(i * 7);
  for (size_t len = 0; len <= message.size(); ++len) {
    const std::string whole = message.substr(0, len);
    Sha256 byte_by_byte;
    for (const char c : whole) byte_by_byte.Update(&c, 1);
    EXPECT_EQ(byte_by_byte.HexDigest(), Sha256Hex(whole)) << len;
    Sha256 two_pieces;
    two_pieces.Update(whole.substr(0, len / 3));
    two_pieces.Update(whole.substr(len / 3));
    EXPECT_EQ(two_pieces.HexDigest(), Sha256Hex(whole)) << len;
  }
}

}  // namespace
}  // namespace detcheck
