// Finds out what is in a file or a directory, and opens it. Throws FileError.
//
// A directory has idx files (train-images*, train-labels*, t10k-images*, t10k-labels*),
// CIFAR-binary files (data_batch_1.bin to 5, test_batch.bin) or text (train.txt, and valid.txt or
// test.txt).
//
// A file is idx images, with the labels beside it by name; CIFAR-binary, by its name's end; LIBSVM,
// by its first line; or text. What is tested on is a tenth held out by chance; of LIBSVM the file
// of the same name and ".t" if there is one; of text its last tenth.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "data/source.h"

namespace gradwire::data {

std::unique_ptr<Source> open_path(const std::filesystem::path& path, const SourceOptions& options);

std::unique_ptr<Source> open_directory(const std::filesystem::path& path, std::string name,
                                       const SourceOptions& options);

}  // namespace gradwire::data
