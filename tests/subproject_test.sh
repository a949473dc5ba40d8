#!/usr/bin/env bash
# Configures a project that contains gradwire by add_subdirectory: libtorch and Node are not needed,
# and nothing of gradwire is tested or installed.
#   tests/subproject_test.sh COMPILER
set -euo pipefail
compiler=$1 source=$PWD
there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT

cat >"$there/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES CXX)
enable_testing()
add_subdirectory($source gradwire)
add_executable(hello $source/tests/consumer/hello.cpp)
target_link_libraries(hello PRIVATE gradwire::gradwire)
TEXT
cmake -S "$there" -B "$there/build" -G Ninja -D CMAKE_CXX_COMPILER="$compiler" \
  -D CMAKE_DISABLE_FIND_PACKAGE_Torch=ON -D CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON \
  -D CMAKE_DISABLE_FIND_PACKAGE_CLI11=ON -D CMAKE_DISABLE_FIND_PACKAGE_pybind11=ON

if (cd "$there/build" && ctest -N) | grep -q 'Test *#'; then
  echo "FAILED: gradwire's tests are part of the parent's" >&2
  exit 1
fi
cmake --install "$there/build" --prefix "$there/prefix" >/dev/null 2>&1 || true
if [[ -e $there/prefix ]]; then
  echo "FAILED: something of gradwire is installed with the parent" >&2
  exit 1
fi
