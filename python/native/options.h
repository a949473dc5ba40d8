// Options that several classes of the module take as keywords.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "gradwire/transport/security.h"

namespace gradwire::python {

// The secret comes as bytes or as a file.
inline SecurityOptions security_of(const pybind11::kwargs& given) {
  const auto file = [&](const char* name) {
    return given.contains(name) ? given[name].cast<std::string>() : std::string();
  };
  SecurityOptions security{.secret_file = file("secret_file"),
                           .certificate_file = file("tls_cert"),
                           .key_file = file("tls_key"),
                           .authority_file = file("tls_ca")};
  if (given.contains("secret")) {
    const auto bytes = given["secret"].cast<std::string_view>();
    security.secret = Secret(std::as_bytes(std::span(bytes)));
  }
  return security;
}

}  // namespace gradwire::python
