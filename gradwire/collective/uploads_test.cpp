#include "gradwire/collective/uploads.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace gradwire {
namespace {

// A parcel of one piece with this payload.
std::vector<std::byte> parcel_of(std::size_t bytes, int value) {
  std::vector<std::byte> memory(parcel_head_bytes(1) + bytes, static_cast<std::byte>(value));
  ParcelWriter writer(memory, 1, 1.0F);
  writer.add(bytes);
  return memory;
}

bool is_empty(std::span<const std::byte> bytes) { return bytes.empty(); }

TEST(Uploads, CountFromTheCommitOn) {
  Uploads uploads(2, 1);
  const auto first = parcel_of(5, 1), second = parcel_of(9, 2);
  uploads.note(1, 0, first);
  EXPECT_TRUE(is_empty(uploads.at(1, 0)));
  uploads.commit();
  EXPECT_EQ(uploads.at(1, 0).size(), first.size());
  uploads.note(1, 0, second);
  uploads.forget();  // poisoned
  uploads.commit();
  EXPECT_EQ(uploads.at(1, 0).size(), first.size());
  EXPECT_TRUE(is_empty(uploads.at(0, 0)));
  EXPECT_EQ(uploads.bytes(), first.size());
}

TEST(Uploads, LoadedAsTheyWereSaved) {
  Uploads uploads(2, 2);
  const auto first = parcel_of(5, 1), second = parcel_of(0, 2);
  uploads.note(0, 1, first);
  uploads.note(1, 0, second);
  uploads.commit();
  const auto saved = uploads.save();
  const std::array<std::size_t, 2> pieces = {1, 1};
  Uploads loaded(2, 2);
  ASSERT_TRUE(loaded.load(saved, pieces));
  EXPECT_EQ(loaded.save(), saved);
}

TEST(Uploads, BytesOfAnythingElseAreRefusedAndNothingChanges) {
  Uploads uploads(2, 1);
  const std::array<std::size_t, 1> pieces = {1};
  const auto first = parcel_of(5, 1);
  uploads.note(0, 0, first);
  uploads.commit();
  const auto saved = uploads.save();
  for (std::size_t length = 0; length < saved.size(); ++length) {
    EXPECT_FALSE(uploads.load(std::span(saved).first(length), pieces)) << length;
  }
  auto longer = saved;
  longer.push_back({});
  EXPECT_FALSE(uploads.load(longer, pieces));
  Uploads others(3, 1);
  EXPECT_FALSE(others.load(saved, pieces));
  EXPECT_EQ(uploads.save(), saved);
}

}  // namespace
}  // namespace gradwire
