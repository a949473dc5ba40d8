// MethodReader: reads the arguments of a method in a spec, and builds the canonical spec from them.
// Errors are SpecErrors with positions in the whole text, also for nested codecs. The text and the
// stage must outlive it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gradwire/codec/codec.h"
#include "gradwire/codec/spec.h"
#include "gradwire/core/error.h"

namespace gradwire {

class MethodReader {
 public:
  MethodReader(std::string_view text, const SpecStage& stage)
      : text_(text), stage_(stage), reader_(text, stage) {}

  StageReader& arguments() { return reader_; }

  // Why a method cannot work with a codec; empty if it can. See scaling.h.
  using WhyNot = std::string (*)(const Codec&);

  // The first argument, a codec. codec() requires it; the other defaults to plain floats.
  std::shared_ptr<const Codec> codec(WhyNot why_not = nullptr);
  std::shared_ptr<const Codec> codec_or_plain(WhyNot why_not = nullptr);
  // The codec of down=...; null if it was not given.
  std::shared_ptr<const Codec> down(WhyNot why_not = nullptr);
  // Returns read(text) of an argument. The text has spaces before the argument, so that positions
  // in errors are positions in the whole text.
  template <class Read>
  auto read_nested(const SpecArgument& argument, const Read& read) const {
    const std::string nested =
        std::string(argument.position, ' ') + std::string(value_text(text_, argument));
    try {
      return read(nested);
    } catch (const SpecError& error) {
      const std::string_view message = error.what();
      fail_at(text_, error.position(), message.substr(0, message.find('\n')));
    }
  }

  std::shared_ptr<const Codec> make_nested(const SpecArgument& argument) const {
    return read_nested(argument, make_codec);
  }

  // Fails at the argument if there is a reason.
  void refuse_if(const std::string& why, const char* key) const;

  // Adds to the canonical form.
  void write(const std::string& argument) { written_ += (written_.empty() ? "" : ", ") + argument; }

  // Call it after all arguments were read. Refuses the others, and returns the canonical spec.
  std::string finish();

 private:
  // Null where there is none.
  std::shared_ptr<const Codec> given_codec(WhyNot why_not);

  std::string_view text_;
  const SpecStage& stage_;
  StageReader reader_;
  std::string written_;
};

}  // namespace gradwire
