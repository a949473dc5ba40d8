#include "gradwire/codec/entropy.h"

#define ZSTD_STATIC_LINKING_ONLY  // for the magicless format and forced literal compression
#include <zstd.h>

#include <new>

#include "gradwire/core/check.h"

namespace gradwire {
namespace {

void set(ZSTD_CCtx* context, ZSTD_cParameter parameter, int value) {
  GW_CHECK(!ZSTD_isError(ZSTD_CCtx_setParameter(context, parameter, value)));
}

}  // namespace

struct EntropyCoder::Contexts {
  Contexts() : encode(ZSTD_createCCtx()), decode(ZSTD_createDCtx()) {
    if (encode == nullptr || decode == nullptr) throw std::bad_alloc();
    // A match finder that finds next to nothing, as fast as it can: what is left is Huffman coding.
    set(encode, ZSTD_c_compressionLevel, -50);
    set(encode, ZSTD_c_strategy, ZSTD_fast);
    set(encode, ZSTD_c_targetLength, 131072);
    set(encode, ZSTD_c_minMatch, 7);
    set(encode, ZSTD_c_hashLog, 6);
    set(encode, ZSTD_c_windowLog, 17);
    set(encode, ZSTD_c_literalCompressionMode, ZSTD_ps_enable);
    set(encode, ZSTD_c_format, ZSTD_f_zstd1_magicless);
    set(encode, ZSTD_c_contentSizeFlag, 0);
    set(encode, ZSTD_c_checksumFlag, 0);
    GW_CHECK(!ZSTD_isError(ZSTD_DCtx_setParameter(decode, ZSTD_d_format, ZSTD_f_zstd1_magicless)));
  }
  ~Contexts() {
    ZSTD_freeCCtx(encode);
    ZSTD_freeDCtx(decode);
  }
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  ZSTD_CCtx* encode;
  ZSTD_DCtx* decode;
};

EntropyCoder::EntropyCoder() = default;
EntropyCoder::~EntropyCoder() = default;

EntropyCoder::Contexts& EntropyCoder::contexts() {
  if (!contexts_) contexts_ = std::make_unique<Contexts>();
  return *contexts_;
}

std::size_t EntropyCoder::coded_bytes_max(std::size_t symbols) {
  return ZSTD_compressBound(symbols);
}

std::size_t EntropyCoder::encode(std::span<const std::uint8_t> symbols,
                                 std::span<std::byte> coded) {
  GW_CHECK(symbols.size() <= kChunkSymbols);
  const std::size_t bytes =
      ZSTD_compress2(contexts().encode, coded.data(), coded.size(), symbols.data(), symbols.size());
  GW_CHECK(!ZSTD_isError(bytes));
  return bytes;
}

Decoded<void> EntropyCoder::decode(std::span<const std::byte> coded,
                                   std::span<std::uint8_t> symbols) {
  const std::size_t count = ZSTD_decompressDCtx(contexts().decode, symbols.data(), symbols.size(),
                                                coded.data(), coded.size());
  if (ZSTD_isError(count)) return Unexpected{DecodeError{"entropy-coded symbols are damaged"}};
  if (count != symbols.size()) return Unexpected{DecodeError{"too few entropy-coded symbols"}};
  return {};
}

}  // namespace gradwire
