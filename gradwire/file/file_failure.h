// How errors about files are worded: the path, what is wrong, and where. All throw FileError.
#pragma once

#include <filesystem>
#include <string_view>

#include "gradwire/core/expected.h"

namespace gradwire {

// "gradient.npy: what"
[[noreturn]] void fail_file(const std::filesystem::path& path, std::string_view what);

// "gradient.npy: at byte 10: what"
[[noreturn]] void fail_file(const std::filesystem::path& path, const DecodeError& error);

// "gradient.npy: cannot be opened: No such file or directory", from errno.
[[noreturn]] void fail_errno(const std::filesystem::path& path, std::string_view what);

}  // namespace gradwire
