#include "gradwire/method/method_reader.h"

namespace gradwire {

std::shared_ptr<const Codec> MethodReader::codec(WhyNot why_not) {
  if (auto given = given_codec(why_not)) return given;
  reader_.fail("'" + stage_.name + "' needs a codec, as in '" + stage_.name + "(natural)'");
}

std::shared_ptr<const Codec> MethodReader::codec_or_plain(WhyNot why_not) {
  if (auto given = given_codec(why_not)) return given;
  std::shared_ptr<const Codec> plain = make_plain_codec();
  write(plain->spec());
  return plain;
}

std::shared_ptr<const Codec> MethodReader::given_codec(WhyNot why_not) {
  const SpecArgument* const argument = reader_.nested_or_first("codec");
  if (argument == nullptr) return nullptr;
  auto codec = make_nested(*argument);
  write(codec->spec());
  if (why_not != nullptr) refuse_if(why_not(*codec), "codec");
  return codec;
}

std::shared_ptr<const Codec> MethodReader::down(WhyNot why_not) {
  const SpecArgument* const argument = reader_.nested("down");
  if (argument == nullptr) return nullptr;
  auto codec = make_nested(*argument);
  write("down=" + codec->spec());
  if (why_not != nullptr) refuse_if(why_not(*codec), "down");
  return codec;
}

void MethodReader::refuse_if(const std::string& why, const char* key) const {
  if (!why.empty()) reader_.fail_argument(key, why);
}

std::string MethodReader::finish() {
  reader_.finish();
  return stage_.name + (written_.empty() ? "" : "(" + written_ + ")");
}

}  // namespace gradwire
