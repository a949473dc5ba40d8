// The registry of methods, by name. methods.inc lists the methods of the library; programs add
// their own with register_method. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gradwire/method/method.h"
#include "gradwire/method/method_reader.h"
#include "gradwire/method/parsed_method.h"

namespace gradwire {

// The entry of a method, defined in the method's own file.
struct MethodEntry {
  std::string name;
  std::function<ParsedMethod(MethodReader&)> read;  // throws SpecError
  std::vector<MethodExample> examples;              // for listings
};

// parse_method, make_method and example_methods then know the method. Does nothing if the name
// exists already.
void register_method(MethodEntry entry);

// For MethodExample::topologies: all; those on which each rank sends a message of its own; those
// with owners.
std::string any_topology();
std::string topologies_with_messages();
std::string topologies_with_owners();

// The kinds of notes of all known methods: those that records can contain.
std::vector<const NoteKind*> note_kinds();

}  // namespace gradwire
