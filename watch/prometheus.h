// The states of runs in Prometheus' text format, version 0.0.4. Pure function.
#pragma once

#include <span>
#include <string>

#include "watch/run_state.h"

namespace gradwire::watch {

inline constexpr const char* kPrometheusType = "text/plain; version=0.0.4; charset=utf-8";

// Every sample has the labels `run` and `directory`. A value that is not known has no sample.
std::string prometheus_text(std::span<const RunState> states);

}  // namespace gradwire::watch
