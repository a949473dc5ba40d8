#include "reproduce/natural_bases.h"

#include <fmt/format.h>

#include <array>

#include "console/format.h"
#include "reproduce/codec_trial.h"

namespace gradwire::reproduce {
namespace {

constexpr std::array kBases = {2, 4, 8, 16};

std::string codec_of(int base) {
  return base == 2 ? "natural" : fmt::format("natural(base={})", base);
}

double omega_of(double base) { return (base - 1) * (base - 1) / (4 * base); }

}  // namespace

void add_bases(Workbench& bench, std::span<const float> gradient, Claim& claim) {
  const record::Json found = bench.trial("bases", [&] {
    record::Json list = record::Json::array();
    for (const int base : kBases) {
      const CodecTrial trial =
          try_codec(codec_of(base) + " | entropy", gradient, bench.is_quick() ? 8 : 32);
      list.push_back({{"growth", trial.growth}, {"bits", trial.bits}});
    }
    return list;
  });
  Curve measured{.label = "measured", .x = {}, .y = {}};
  Curve bound{.label = "omega = (b - 1)^2 / (4b)", .x = {}, .y = {}};
  std::string figures;
  bool holds = true;
  for (std::size_t i = 0; i < kBases.size(); ++i) {
    const double omega = found[i].at("growth").get<double>() - 1;
    const double bits = found[i].at("bits");
    const double most = omega_of(kBases[i]);
    measured.x.push_back(bits);
    measured.y.push_back(omega);
    bound.x.push_back(bits);
    bound.y.push_back(most);
    holds = holds && omega <= most && (i == 0 || bits < measured.x[i - 1]);
    figures += fmt::format("{}base {}: {} bits, omega {} (at most {})", i == 0 ? "" : "; ",
                           kBases[i], console::significant(bits, 3), console::significant(omega, 3),
                           console::significant(most, 3));
  }
  claim.rows.push_back({.what = "larger bases, with the entropy stage: fewer bits, larger omega",
                        .published = "not measured; omega is (b - 1)^2 / (4b)",
                        .measured = figures,
                        .holds = holds});
  claim.pictures.push_back({.name = "natural-bases",
                            .title = "Variance against bits: natural with bases 2, 4, 8 and 16",
                            .x_label = "bits an element, with the entropy stage",
                            .y_label = "omega",
                            .log_x = false,
                            .log_y = true,
                            .curves = {std::move(measured), std::move(bound)}});
}

}  // namespace gradwire::reproduce
