#!/usr/bin/env bash
# Installs gradwire into an empty directory, then builds and runs a project that uses it from there.
#   tests/consumer_test.sh BUILD_DIR COMPILER
set -euo pipefail
build_dir=$1 compiler=$2
there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT

cmake --install "$build_dir" --prefix "$there/prefix" >/dev/null
cp -r tests/consumer "$there/consumer"
cmake -S "$there/consumer" -B "$there/build" -G Ninja \
  -D CMAKE_CXX_COMPILER="$compiler" -D CMAKE_PREFIX_PATH="$there/prefix"
cmake --build "$there/build"
"$there/build/consumer"
"$there/prefix/bin/gradwire" --version

# The same without CMake, with the first program of docs/library.md.
pkgconfig=$(dirname "$(find "$there/prefix" -name gradwire.pc)")
export PKG_CONFIG_PATH=$pkgconfig
"$compiler" -std=c++20 "$there/consumer/hello.cpp" $(pkg-config --cflags --libs gradwire) \
  -o "$there/hello"
"$there/hello"
if ! diff <(sed -n '/^```cpp$/,/^```$/{/^```/d;p}; /^```$/q' docs/library.md) \
          tests/consumer/hello.cpp; then
  echo "FAILED: the first program of docs/library.md is not tests/consumer/hello.cpp" >&2
  exit 1
fi

if [[ -e $there/prefix/include/gradwire/kernel ]]; then
  echo "FAILED: the kernels' headers are installed, but they are no part of the public API" >&2
  exit 1
fi
