#include "record/event_file.h"

#include <bit>
#include <cstring>
#include <map>
#include <vector>

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "record/crc32c.h"
#include "record/step_scalars.h"

namespace gradwire::record {
namespace {

// An event as its reader sees it.
struct Event {
  double wall_time = 0;
  std::uint64_t step = 0;
  std::string file_version;
  std::vector<std::pair<std::string, float>> values;
  bool is_start = false;
};

// Reads from the front of a text.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool is_at_end() const { return text_.empty(); }

  std::string_view take(std::size_t size) {
    EXPECT_LE(size, text_.size());
    const std::string_view taken = text_.substr(0, size);
    text_.remove_prefix(taken.size());
    return taken;
  }

  template <class T>
  T take_number() {
    T number{};
    std::memcpy(&number, take(sizeof(T)).data(), sizeof(T));
    return number;
  }

  std::uint64_t take_varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = take_number<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
  }

  std::string_view take_text() { return take(take_varint()); }

 private:
  std::string_view text_;
};

std::pair<std::string, float> read_value(std::string_view text) {
  Reader reader(text);
  EXPECT_EQ(reader.take_varint(), 1 << 3 | 2);
  const std::string tag(reader.take_text());
  EXPECT_EQ(reader.take_varint(), 2 << 3 | 5);
  const auto value = reader.take_number<float>();
  EXPECT_TRUE(reader.is_at_end());
  return {tag, value};
}

Event read_event(std::string_view text) {
  Event event;
  Reader reader(text);
  while (!reader.is_at_end()) {
    switch (const std::uint64_t key = reader.take_varint()) {
      case 1 << 3 | 1:
        event.wall_time = reader.take_number<double>();
        break;
      case 2 << 3 | 0:
        event.step = reader.take_varint();
        break;
      case 3 << 3 | 2:
        event.file_version = reader.take_text();
        break;
      case 5 << 3 | 2: {
        Reader summary(reader.take_text());
        while (!summary.is_at_end()) {
          EXPECT_EQ(summary.take_varint(), 1 << 3 | 2);
          event.values.push_back(read_value(summary.take_text()));
        }
        break;
      }
      case 7 << 3 | 2:
        event.is_start = reader.take_text() == std::string_view("\x08\x01", 2);
        break;
      default:
        ADD_FAILURE() << "unknown key " << key;
        return event;
    }
  }
  return event;
}

std::uint32_t masked(std::string_view text) {
  return std::rotr(crc32c(bytes_of(text)), 15) + 0xA282EAD8;
}

std::vector<Event> read_events(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  Reader reader(text);
  std::vector<Event> events;
  while (!reader.is_at_end()) {
    const std::string_view length = reader.take(8);
    EXPECT_EQ(reader.take_number<std::uint32_t>(), masked(length));
    const std::string_view data = reader.take(Reader(length).take_number<std::uint64_t>());
    EXPECT_EQ(reader.take_number<std::uint32_t>(), masked(data));
    events.push_back(read_event(data));
  }
  return events;
}

TEST(Crc32c, IsTheOneOfThePublishedExamples) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8A9136AA);    // RFC 3720, B.4
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\xFF'))), 0x62A8AB43);  // there, too
}

TEST(EventFile, ScalarsComeBackAsTheyWereWritten) {
  const TestDirectory directory;
  EventFile file(directory / "board", 1);
  file.add(300, std::vector<Scalar>{{"loss", 0.5}, {"rate", 0.125}});
  file.add(1ull << 40, std::vector<Scalar>{{"loss", -1}});
  file.flush();
  const auto files = std::filesystem::directory_iterator(directory / "board");
  const std::vector<Event> events = read_events(files->path());
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].file_version, "brain.Event:2");
  EXPECT_TRUE(events[1].is_start);
  EXPECT_EQ(events[1].step, 1u);
  EXPECT_GT(events[2].wall_time, 1.7e9);
  EXPECT_EQ(events[2].step, 300u);
  EXPECT_EQ(events[2].values,
            (std::vector<std::pair<std::string, float>>{{"loss", 0.5F}, {"rate", 0.125F}}));
  EXPECT_EQ(events[3].step, 1ull << 40);
}

TEST(EventFile, EveryFileHasANameOfItsOwn) {
  const TestDirectory directory;
  const EventFile first(directory / "board", 1);
  const EventFile second(directory / "board", 7);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory / "board")) {
    EXPECT_TRUE(entry.path().filename().string().starts_with("events.out.tfevents."));
    ++files;
  }
  EXPECT_EQ(files, 2u);
}

TEST(EventFile, DirectoryThatCannotBeMadeIsSaid) {
  const TestDirectory directory;
  write_text(directory / "file", "");
  EXPECT_NE(message_of<FileError>([&] { EventFile(directory / "file", 1); }), "");
  EXPECT_NE(message_of<FileError>([&] { EventFile(directory / "file/below", 1); }), "");
}

TEST(StepScalars, HaveAllThatIsKnownOfAStep) {
  const StepRecord step{.step = 3,
                        .metrics = {.loss = 2, .accuracy = 0.5},
                        .learning_rate = 0.1,
                        .traffic = {.bytes_sent = 100},
                        .phases = {.exchange_seconds = 0.25},
                        .seconds = 0.5};
  std::map<std::string, double> scalars;
  for (const Scalar& scalar : scalars_of(step, 3200)) scalars[scalar.tag] = scalar.value;
  EXPECT_EQ(scalars.at("train/loss"), 2);
  EXPECT_EQ(scalars.at("test/accuracy"), 0.5);
  EXPECT_EQ(scalars.at("train/learning_rate"), 0.1);
  EXPECT_EQ(scalars.at("gradwire/bytes_per_step"), 100);
  EXPECT_EQ(scalars.at("gradwire/ratio"), 32);
  EXPECT_EQ(scalars.at("gradwire/exchange_ms"), 250);
  EXPECT_EQ(scalars.at("gradwire/step_ms"), 500);
  EXPECT_FALSE(scalars.contains("test/loss"));
}

TEST(StepScalars, StepThatSentNothingHasNoRatio) {
  for (const Scalar& scalar : scalars_of({.step = 1}, 0)) EXPECT_NE(scalar.tag, "gradwire/ratio");
}

}  // namespace
}  // namespace gradwire::record
