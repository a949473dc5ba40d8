#!/usr/bin/env bash
# tools/check-links refuses links that lead nowhere, and says where they are.
set -euo pipefail
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/docs"

fail() { echo "FAILED: $*" >&2; exit 1; }

cat >"$tree/docs/page.md" <<'MD'
# A page

## The `.gw` file
## Twice
## Twice
[itself](#a-page), [the second](#twice-1), [up](../README.md), [a directory](../docs)
MD
cat >"$tree/README.md" <<'MD'
# Title
[file](docs/page.md#the-gw-file), [elsewhere](https://example.org/none), `[code](none.md)`
```
# not a heading
[not a link](none.md)
```
MD
tools/check-links "$tree" || fail "refused links that lead somewhere"

refuses() {  # link target, reason
  printf '# Bad\n\nSee [this](%s).\n' "$1" >"$tree/docs/bad.md"
  if said=$(tools/check-links "$tree"); then fail "did not refuse $1"; fi
  [[ $said == "docs/bad.md:3: $2" ]] || fail "$1 gave: $said"
}
refuses none.md 'there is no docs/none.md'
refuses ../none.md 'there is no none.md'
refuses '#none' 'docs/bad.md has no heading for #none'
refuses page.md#twice-2 'docs/page.md has no heading for #twice-2'
refuses ../README.md#not-a-heading 'README.md has no heading for #not-a-heading'
