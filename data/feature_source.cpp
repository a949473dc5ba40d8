#include "data/feature_source.h"

#include <algorithm>
#include <set>

#include "data/hold_out.h"
#include "data/libsvm.h"
#include "gradwire/codec/spec.h"
#include "gradwire/core/check.h"
#include "gradwire/core/error.h"
#include "gradwire/file/file_failure.h"
#include "gradwire/wire/frame.h"

namespace gradwire::data {
namespace {

// The distinct labels, rising.
std::vector<double> distinct(const std::vector<double>& labels) {
  const std::set<double> labels_seen(labels.begin(), labels.end());
  return {labels_seen.begin(), labels_seen.end()};
}

// Puts the class in place of every label.
void map_labels_to_classes(Dataset& data, const std::vector<double>& classes,
                           const std::string& name) {
  for (std::size_t row = 0; row < data.labels.size(); ++row) {
    double& label = data.labels[row];
    const auto place = std::ranges::lower_bound(classes, label);
    if (place == classes.end() || *place != label) {
      throw Error(name + ": row " + std::to_string(row) + " of the test part has label " +
                  format_number(label) + ", which no training sample has");
    }
    label = static_cast<double>(place - classes.begin());
  }
}

class FeatureSource final : public Source {
 public:
  FeatureSource(Dataset train, Dataset test, std::string name, std::size_t classes)
      : train_(std::move(train)),
        test_(std::move(test)),
        name_(std::move(name)),
        shape_{.kind = SampleShape::Kind::features,
               .width = std::max(train_.rows.features, test_.rows.features),
               .classes = classes} {}

  const std::string& name() const override { return name_; }
  const SampleShape& shape() const override { return shape_; }
  std::size_t size(Part part) const override {
    return part == Part::train ? train_.rows.size() : test_.rows.size();
  }
  std::span<const double> labels() const override { return train_.labels; }

  std::uint64_t checksum() const override {
    const std::uint64_t parts[] = {data_checksum(train_), data_checksum(test_)};
    return gradwire::checksum(std::as_bytes(std::span(parts)));
  }

  void fill_train(std::span<const std::uint32_t> samples, const Rng&, Batch& batch) const override {
    clear(batch, samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) copy(train_, samples[i], i, batch);
  }

  void fill_test(std::size_t first, std::size_t samples, Batch& batch) const override {
    clear(batch, samples);
    for (std::size_t i = 0; i < samples; ++i) copy(test_, first + i, i, batch);
  }

 private:
  void clear(Batch& batch, std::size_t samples) const {
    batch.samples = samples;
    batch.values.assign(samples * shape_.width, 0.0f);
    batch.tokens.clear();
    batch.targets.resize(samples);
  }

  void copy(const Dataset& data, std::size_t row, std::size_t sample, Batch& batch) const {
    GW_CHECK(row < data.rows.size());
    const SparseRow features = data.rows.row(row);
    const auto values = std::span(batch.values).subspan(sample * shape_.width, shape_.width);
    for (std::size_t i = 0; i < features.columns.size(); ++i) {
      values[features.columns[i]] = static_cast<float>(features.values[i]);
    }
    batch.targets[sample] = static_cast<std::int64_t>(data.labels[row]);
  }

  Dataset train_;  // labels are classes
  Dataset test_;
  std::string name_;
  SampleShape shape_;
};

Dataset take_rows(const Dataset& data, std::span<const std::uint32_t> rows) {
  Dataset some;
  some.rows.features = data.rows.features;
  for (const std::uint32_t index : rows) {
    const SparseRow row = data.rows.row(index);
    some.rows.columns.insert(some.rows.columns.end(), row.columns.begin(), row.columns.end());
    some.rows.values.insert(some.rows.values.end(), row.values.begin(), row.values.end());
    some.rows.end_row();
    some.labels.push_back(data.labels[index]);
  }
  return some;
}

}  // namespace

std::unique_ptr<Source> make_feature_source(Dataset train, Dataset test,
                                            const std::vector<double>& labels, std::string name) {
  const std::size_t features = std::max(train.rows.features, test.rows.features);
  if (features > kDenseFeaturesMax) {
    throw Error(name + ": rows have " + std::to_string(features) +
                " features, and a network takes all of them, at most " +
                std::to_string(kDenseFeaturesMax));
  }
  if (labels.size() > kFeatureClassesMax) {
    throw Error(name + ": there are " + std::to_string(labels.size()) +
                " distinct labels, so they seem to be numbers, not classes; there can be " +
                std::to_string(kFeatureClassesMax) + " classes");
  }
  map_labels_to_classes(train, labels, name);
  map_labels_to_classes(test, labels, name);
  return std::make_unique<FeatureSource>(std::move(train), std::move(test), std::move(name),
                                         labels.size());
}

std::unique_ptr<Source> open_libsvm(const std::filesystem::path& path, std::string name,
                                    std::uint64_t seed) {
  Dataset data = read_libsvm(path);
  const std::vector<double> labels = distinct(data.labels);
  const std::filesystem::path test_path = path.string() + ".t";
  std::error_code ignored;
  if (std::filesystem::exists(test_path, ignored)) {
    return make_feature_source(std::move(data), read_libsvm(test_path), labels, std::move(name));
  }
  if (data.rows.size() < 2) fail_file(path, "has one row, and some must be held out for tests");
  const HoldOut parts = hold_out(data.rows.size(), seed);
  return make_feature_source(take_rows(data, parts.train), take_rows(data, parts.test), labels,
                             std::move(name));
}

}  // namespace gradwire::data
