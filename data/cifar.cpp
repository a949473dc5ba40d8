#include "data/cifar.h"

#include <string>

namespace gradwire::data {

Readable<CifarView> parse_cifar(std::span<const std::byte> bytes) {
  CifarView view;
  view.bytes_ = bytes;
  const std::size_t rest = bytes.size() % kCifarRecordBytes;
  if (bytes.empty() || rest != 0) {
    return Unexpected{Refusal{bytes.size(),
                              "all " + std::to_string(kCifarRecordBytes) + " bytes of record " +
                                  std::to_string(view.records()),
                              "the end of the file behind " + std::to_string(rest)}};
  }
  for (std::size_t record = 0; record < view.records(); ++record) {
    if (view.label(record) >= kCifarClasses) {
      return Unexpected{Refusal{record * kCifarRecordBytes,
                                "the label of record " + std::to_string(record) + ", from 0 to " +
                                    std::to_string(kCifarClasses - 1),
                                std::to_string(view.label(record))}};
    }
  }
  return view;
}

}  // namespace gradwire::data
