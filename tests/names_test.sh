#!/usr/bin/env bash
# tools/check-names refuses names outside their own files, and exceptions that nothing needs.
set -euo pipefail
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{tools,cli,gradwire/{codec,method/room}}

fail() { echo "FAILED: $*" >&2; exit 1; }

printf 'GRADWIRE_CODEC_STAGE(sign)  // a word\nGRADWIRE_CODEC_STAGE(topk)\n' >"$tree/gradwire/codec/stages.inc"
printf 'GRADWIRE_METHOD(ef)\nGRADWIRE_METHOD(plans)\n' >"$tree/gradwire/method/methods.inc"
printf '  {"ef_sign", "ef(sign)"},\n' >"$tree/gradwire/method/presets.cpp"
cat >"$tree/gradwire/codec/topk.cpp" <<'CPP'
CodecStage topk_stage() {
  return {.name = "topk", .examples = {"topk(1%)", "topk(1%) | sign"}};
}
CPP
printf 'CodecStage sign_stage() {\n  return {.name = "sign"};\n}\n' >"$tree/gradwire/codec/sign.cpp"
printf 'MethodEntry ef_method() {\n  return {.name = "ef"};\n}\n' >"$tree/gradwire/method/ef.cpp"
printf 'MethodEntry plans_method() {\n' >"$tree/gradwire/method/room/entry.cpp"
echo 'const char* name = "plans";' >"$tree/gradwire/method/room/other.cpp"
cat >"$tree/cli/good.cpp" <<'CPP'
#include "gradwire/codec/topk.h"
// "topk(1%)" in a comment.
const char* words[] = {"a sign of life", "no sign.", "left", "topknot"};
void help() {
  app->footer("Example:\n"
              "  gradwire train --method 'ef(topk(1%))'");
}
CPP
echo 'const char* spec = "ef(topk(1%))";' >"$tree/cli/good_test.cpp"
echo '# nothing' >"$tree/tools/names-allowed"
tools/check-names "$tree" || fail "refused names in their own files"

refuses() {  # file, line of code, name
  echo "$2" >"$tree/$1"
  if said=$(tools/check-names "$tree"); then fail "did not refuse $2 in $1"; fi
  [[ $said == "$1:1: the name $3 stands outside its own files"* ]] || fail "$2 in $1 gave: $said"
  rm "$tree/$1"
}
refuses cli/bad.cpp 'if (spec == "sign") return;' sign
refuses cli/bad.cpp 'make("sign(scale=off)");' sign
refuses cli/bad.cpp 'make("natural | sign");' sign
refuses cli/bad.cpp 'make("inner=sign)");' sign
refuses cli/bad.cpp 'if (spec.starts_with("topk")) return;' topk
refuses cli/bad.cpp "throw Error(\"take ef for it\");" ef
refuses cli/bad.py "if spec == 'ef_sign': pass" ef_sign
refuses cli/bad.js "if (run.method === 'topk(1%)') return;" topk
refuses cli/bad.js 'show(`with topk`);' topk
refuses gradwire/method/bad.cpp 'const char* name = "plans";' plans

echo 'make("topk(1%)");' >"$tree/cli/bench.cpp"
echo 'cli/bench.cpp: topk: a default' >"$tree/tools/names-allowed"
tools/check-names "$tree" || fail "refused an exception"
rm "$tree/cli/bench.cpp"
if said=$(tools/check-names "$tree"); then fail "took an exception that nothing needs"; fi
[[ $said == "tools/names-allowed:1: nothing in cli/bench.cpp needs"* ]] || fail "stale: $said"
