// MethodReader: the arguments of a method in a spec, read one by one and written down again in
// their canonical form. All errors are SpecErrors with positions in the whole text, those of nested
// codecs, too. The text and the stage must outlive it.
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

  // The codec that comes first. It must be there, or is otherwise the plain one.
  std::shared_ptr<const Codec> codec(WhyNot why_not = nullptr);
  std::shared_ptr<const Codec> codec_or_plain(WhyNot why_not = nullptr);
  // The codec of down=...; null where it was not given.
  std::shared_ptr<const Codec> down(WhyNot why_not = nullptr);
  // What `read(text)` makes of an argument. It gets the argument with nothing but space before it,
  // so that positions in its errors are those in the whole text, which is what they then show.
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

  // Call it when everything was read. Returns the canonical form.
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
