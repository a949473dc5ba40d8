// The description of an elastic run: what a newcomer has to know to take part, as JSON. The founder
// writes it once, with all defaults filled in, and every member passes it on unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/source.h"
#include "record/json_file.h"
#include "session/train_options.h"

namespace gradwire::session {

struct ElasticDescription {
  std::string method = {};
  TrainOptions options = {};  // of the task; those of this process are not part of it
  std::string data_checksum = {};
  std::size_t global_batch = 1;
  std::size_t members_least = 1;
  std::uint64_t silence_ms = 10'000;
  std::uint64_t wait_ms = 600'000;
};

record::Json to_json(const ElasticDescription& description);

std::vector<std::byte> to_bytes(const ElasticDescription& description);
// Throws Error for bytes that are none, or of another version of gradwire.
ElasticDescription parse_description(std::span<const std::byte> bytes);

// Throws Error if the data of this process are not those of the run.
void check_data(const ElasticDescription& description, const data::Source& source);

}  // namespace gradwire::session
