#include "reproduce/libsvm_twin.h"

#include <algorithm>
#include <sstream>

#include "data/libsvm.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"

namespace gradwire::reproduce {
namespace {

class LibsvmTwin : public testing::Test {
 protected:
  Workbench bench(const std::filesystem::path& data) const {
    return Workbench({.claim = "c", .directory = directory_ / "out", .data_directory = data},
                     console_);
  }

  const TestDirectory directory_;
  mutable std::ostringstream text_;
  const console::Console console_{.out = text_, .err = text_};
};

TEST_F(LibsvmTwin, HasTheSizeOfItsFile) {
  const LibsvmFile file = find_libsvm(bench({}), kMushrooms);
  EXPECT_TRUE(file.is_twin);
  EXPECT_EQ(file.name, "mushrooms-twin");
  const data::Dataset data = data::read_libsvm(file.path);
  EXPECT_EQ(data.rows.size(), 8124u);
  EXPECT_EQ(data.rows.features, 112u);
  EXPECT_NEAR(static_cast<double>(data.rows.values.size()) / 8124, 21, 1.5);
  const auto positive = std::ranges::count(data.labels, 1.0);
  EXPECT_NEAR(static_cast<double>(positive) / 8124, 0.48, 0.001);
}

TEST_F(LibsvmTwin, FileThatIsThereIsTaken) {
  std::filesystem::create_directories(directory_ / "data");
  write_text(directory_ / "data/a5a", "+1 1:1\n-1 2:1\n");
  const LibsvmFile file = find_libsvm(bench(directory_ / "data"), kA5a);
  EXPECT_FALSE(file.is_twin);
  EXPECT_EQ(file.path, directory_ / "data/a5a");
  EXPECT_TRUE(find_libsvm(bench(directory_ / "data"), kMushrooms).is_twin);
}

}  // namespace
}  // namespace gradwire::reproduce
