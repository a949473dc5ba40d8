#!/usr/bin/env bash
# tools/check-includes refuses what the table does not allow, and says where.
set -euo pipefail
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{docs,gradwire/{core,codec,wire}}
cp docs/architecture.md "$tree/docs"

fail() { echo "FAILED: $*" >&2; exit 1; }

cat >"$tree/gradwire/codec/good.cpp" <<'CPP'
#include "gradwire/codec/good.h"
#include <vector>
#include "gradwire/core/error.h"
#include "gradwire/kernel/pack.h"
CPP
echo '#include <xxhash.h>' >"$tree/gradwire/wire/good.cpp"
echo '#include <gtest/gtest.h>' >"$tree/gradwire/core/good_test.cpp"
tools/check-includes "$tree" || fail "refused what the table allows"

refuses() {  # file, include, reason
  mkdir -p "$(dirname "$tree/$1")"
  printf '// first line\n#include %s\n' "$2" >"$tree/$1"
  if said=$(tools/check-includes "$tree"); then fail "did not refuse $2 in $1"; fi
  [[ $said == "$1:2: $3" ]] || fail "$2 in $1 gave: $said"
  rm "$tree/$1"
}
refuses gradwire/core/bad.h '"gradwire/wire/a.h"' 'gradwire/core may not include gradwire/wire/a.h'
refuses gradwire/wire/bad.cpp '"gradwire/codec/a.h"' 'gradwire/wire may not include gradwire/codec/a.h'
refuses gradwire/codec/bad.cpp '<hwy/highway.h>' 'gradwire/codec may not include hwy/highway.h'
refuses gradwire/wire/bad.cpp '<hwy/highway.h>' 'gradwire/wire may not include hwy/highway.h'
refuses gradwire/wire/bad.cpp '"frame.h"' 'gradwire/wire may not include frame.h'
refuses gradwire/core/bad.cpp '<gtest/gtest.h>' 'gradwire/core may not include gtest/gtest.h'
refuses gradwire/core/bad.cpp 'SOME_MACRO' 'an include must name its header'
refuses attic/bad.cpp '<vector>' 'no room of docs/architecture.md holds this file'
