#include "data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <string>

#include "gradwire/core/check.h"
#include "gradwire/file/read_file.h"

namespace gradwire::data {
namespace {

constexpr std::byte kMagic[] = {std::byte{0x1f}, std::byte{0x8b}};
constexpr int kGzipOnly = 16;  // added to the window's bits: neither zlib's nor a raw stream
constexpr std::size_t kInflatedBytesMax = std::size_t{4} << 30;
constexpr std::size_t kStepBytesMax = std::size_t{1} << 30;  // zlib counts in 32 bits

class Inflater {
 public:
  explicit Inflater(std::span<const std::byte> bytes) : bytes_(bytes) {
    GW_CHECK(inflateInit2(&stream_, MAX_WBITS + kGzipOnly) == Z_OK);
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Readable<std::vector<std::byte>> inflate_all(std::size_t bytes_max) {
    do {
      int status = Z_OK;
      while (status == Z_OK) {
        if (filled_ == inflated_.size() && !grow(bytes_max)) {
          return refuse("at most " + std::to_string(bytes_max) + " bytes when inflated", "more");
        }
        status = step();
      }
      if (status == Z_BUF_ERROR) return refuse("more of the gzip stream", "the end of the file");
      if (status != Z_STREAM_END) {
        return refuse("a sound gzip stream", stream_.msg ? stream_.msg : "one that is not");
      }
      inflateReset(&stream_);
    } while (is_gzip(bytes_.subspan(taken_)));  // files of several streams are one after the other
    if (taken_ < bytes_.size()) {
      return refuse("the end of the file", end_or_more(bytes_.size() - taken_));
    }
    inflated_.resize(filled_);
    return std::move(inflated_);
  }

 private:
  bool grow(std::size_t bytes_max) {
    constexpr std::size_t kFirstBytes = 1 << 16;
    if (inflated_.size() == bytes_max) return false;
    const std::size_t wanted = std::max({kFirstBytes, 4 * bytes_.size(), 2 * inflated_.size()});
    inflated_.resize(std::min(wanted, bytes_max));
    return true;
  }

  int step() {
    const auto in = bytes_.subspan(taken_, std::min(bytes_.size() - taken_, kStepBytesMax));
    const auto out =
        std::span(inflated_).subspan(filled_, std::min(inflated_.size() - filled_, kStepBytesMax));
    // zlib does not write to its input, but does not say so.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    taken_ += in.size() - stream_.avail_in;
    filled_ += out.size() - stream_.avail_out;
    return status;
  }

  Readable<std::vector<std::byte>> refuse(std::string expected, std::string found) const {
    return Unexpected{Refusal{taken_, std::move(expected), std::move(found)}};
  }

  std::span<const std::byte> bytes_;
  std::size_t taken_ = 0;
  std::vector<std::byte> inflated_;
  std::size_t filled_ = 0;
  z_stream stream_ = {};
};

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= std::size(kMagic) &&
         std::ranges::equal(bytes.first(std::size(kMagic)), kMagic);
}

Readable<std::vector<std::byte>> inflate_gzip(std::span<const std::byte> bytes,
                                              std::size_t bytes_max) {
  return Inflater(bytes).inflate_all(bytes_max);
}

std::vector<std::byte> read_plain_or_gzip(const std::filesystem::path& path) {
  std::vector<std::byte> bytes = read_file(path);
  if (!is_gzip(bytes)) return bytes;
  Readable<std::vector<std::byte>> inflated = inflate_gzip(bytes, kInflatedBytesMax);
  if (!inflated) refuse_file(path, inflated.error());
  return std::move(*inflated);
}

}  // namespace gradwire::data
