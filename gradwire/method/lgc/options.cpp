#include "gradwire/method/lgc/options.h"

#include <algorithm>

#include "gradwire/codec/spec.h"
#include "gradwire/core/error.h"
#include "gradwire/method/scaling.h"

namespace gradwire {
namespace {

constexpr const char* kInnovation = "topk(40%) | sign";
constexpr std::int64_t kStepsMax = 1'000'000'000;

std::size_t read_steps(MethodReader& reader, const char* key, std::size_t otherwise) {
  const std::int64_t given =
      reader.arguments().integer(key, static_cast<std::int64_t>(otherwise), 0, kStepsMax);
  const auto steps = static_cast<std::size_t>(given);
  if (steps != otherwise) reader.write(std::string(key) + '=' + std::to_string(steps));
  return steps;
}

void read_phases(MethodReader& reader, LgcPhaseOptions& phases) {
  phases.full_steps = read_steps(reader, "full", phases.full_steps);
  phases.sparse_steps = read_steps(reader, "sparse", phases.sparse_steps);
  const double error = reader.arguments().keyed_number("error", phases.error_max, 0, 10);
  if (error != phases.error_max) reader.write("error=" + format_number(error));
  phases.error_max = error;
  phases.refresh_every = read_steps(reader, "refresh", phases.refresh_every);
}

void read_code(MethodReader& reader, LgcOptions& options) {
  StageReader& arguments = reader.arguments();
  const std::string code = arguments.word("code", {"linear", "deep", "plain"});
  if (code != "linear") reader.write("code=" + code);
  options.code = code == "linear" ? CodeKind::linear
                 : code == "deep" ? CodeKind::deep
                                  : CodeKind::plain;
  options.channels = static_cast<std::size_t>(
      arguments.integer("channels", kCodeBlock, 1, static_cast<std::int64_t>(kCodeBlock)));
  if (options.channels != kCodeBlock) reader.write("channels=" + std::to_string(options.channels));
  const double most = 8.0 * static_cast<double>(options.channels) / double{kCodeBlock};
  options.bits = arguments.keyed_number("bits", std::min(2.0, most), 1.0 / kCodeBlock, most);
  if (options.bits != std::min(2.0, most)) reader.write("bits=" + format_number(options.bits));
  if (options.code != CodeKind::plain) return;
  if (options.channels != kCodeBlock) {
    arguments.fail_argument("channels", "code=plain has as many channels as values: 16");
  }
  if (options.instance == LgcInstance::server) {
    arguments.fail_argument("code",
                            "code=plain has nothing in common for all ranks; take lgc(ring)");
  }
}

// How the leader writes its values: any codec that keeps all that it is given.
void read_values(MethodReader& reader, LgcOptions& options) {
  if (const SpecArgument* const given = reader.arguments().nested("values")) {
    options.values = reader.make_nested(*given)->spec();
    if (options.values != "sign") reader.write("values=" + options.values);
  }
  try {
    make_codec("topk(1%) | " + options.values);
  } catch (const SpecError& error) {
    const std::string_view message = error.what();
    reader.arguments().fail_argument("values", message.substr(0, message.find('\n')));
  }
}

void read_innovation(MethodReader& reader, LgcOptions& options) {
  const SpecArgument* const given = reader.arguments().nested("innovation");
  if (options.instance == LgcInstance::ring) {
    if (given != nullptr) {
      reader.arguments().fail_argument("innovation", "'innovation' is for lgc(server)");
    }
    return;
  }
  options.innovation = make_codec(kInnovation)->spec();
  if (given == nullptr) return;
  const auto codec = reader.make_nested(*given);
  reader.refuse_if(why_not_with_error_memory(*codec), "innovation");
  if (codec->spec() != options.innovation) reader.write("innovation=" + codec->spec());
  options.innovation = codec->spec();
}

}  // namespace

LgcOptions read_lgc_options(MethodReader& reader) {
  StageReader& arguments = reader.arguments();
  LgcOptions options;
  const SpecArgument* const instance = arguments.nested_or_first("instance", "ring");
  if (instance == nullptr) arguments.fail("'lgc' needs to know where: lgc(ring) or lgc(server)");
  const SpecStage& stage = instance->stages.front();
  const std::string& name = stage.name;
  const bool is_word = instance->stages.size() == 1 && stage.arguments.empty();
  if (!is_word || (name != "ring" && name != "server")) {
    arguments.fail_argument("instance",
                            "there are lgc(ring) and lgc(server), and settings behind a comma, as "
                            "in lgc(ring, share=1%)");
  }
  options.instance = name == "ring" ? LgcInstance::ring : LgcInstance::server;
  reader.write(name);
  options.share = arguments.keyed_number("share", options.share, 1e-6, 0.5);
  if (options.share != LgcOptions().share) reader.write("share=" + format_share(options.share));
  read_phases(reader, options.phases);
  read_code(reader, options);
  read_values(reader, options);
  read_innovation(reader, options);
  options.spec = reader.finish();
  return options;
}

}  // namespace gradwire
