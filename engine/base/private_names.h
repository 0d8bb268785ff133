#pragma once

#include <string>
#include <string_view>

namespace detcheck {

// What must not enter a report: who ran detcheck, on which host, and where files lie.

/// `text` with each word that is the user's or the host's name replaced by "(private)". Names of
/// fewer than three characters are left alone. A word is a run of letters, digits, '_' and '-'.
std::string WithoutPrivateNames(std::string_view text);

/// The last part of a path, without private names: "/home/alice/models/tiny/" is "tiny". What comes
/// before the host of a URL is dropped with the rest.
std::string PublicName(std::string_view path);

/// `text` with each path in it reduced to its PublicName, and without private names elsewhere. A
/// path is a word between spaces or quotes that has two slashes, or one and begins with '/', '.' or
/// '~'.
std::string WithoutPaths(std::string_view text);

}  // namespace detcheck
