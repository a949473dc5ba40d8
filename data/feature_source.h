// A source of rows of numbers, from LIBSVM files. Rows stay sparse in memory and become dense in a
// batch. Classes are the distinct labels of the file, from the smallest on.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/source.h"

namespace gradwire::data {

inline constexpr std::size_t kDenseFeaturesMax = 100'000;
inline constexpr std::size_t kFeatureClassesMax = 1'000;

// `labels` are the distinct ones, rising; each is a class. Throws Error where rows have more than
// kDenseFeaturesMax features, where there are more than kFeatureClassesMax labels, or where a row
// has another label.
std::unique_ptr<Source> make_feature_source(Dataset train, Dataset test,
                                            const std::vector<double>& labels, std::string name);

// Tested on are the rows of the file of the same name and ".t"; without one, a tenth of the rows,
// held out by chance.
std::unique_ptr<Source> open_libsvm(const std::filesystem::path& path, std::string name,
                                    std::uint64_t seed);

}  // namespace gradwire::data
