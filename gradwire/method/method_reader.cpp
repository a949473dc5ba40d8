#include "gradwire/method/method_reader.h"

namespace gradwire {
std::shared_ptr<const Codec> MethodReader::codec(const char* otherwise) {
  const SpecArgument* const argument = reader_.nested_or_first("codec");
  if (argument == nullptr && otherwise == nullptr) {
    reader_.fail("'" + stage_.name + "' needs a codec, as in '" + stage_.name + "(natural)'");
  }
  auto codec = argument != nullptr ? make_nested(*argument) : make_codec(otherwise);
  write(codec->spec());
  return codec;
}

std::shared_ptr<const Codec> MethodReader::down() {
  const SpecArgument* const argument = reader_.nested("down");
  if (argument == nullptr) return nullptr;
  auto codec = make_nested(*argument);
  write("down=" + codec->spec());
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
