#!/usr/bin/env bash
# Generates the code once more, elsewhere, and compares: committed code is what the
# contracts say.
set -euo pipefail
cd "$(dirname "$0")/.."
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
export GOWORK=off
buf=$(go -C tools tool -n buf)
sed "s#out: shared/gen#out: $fresh/gen#" buf.gen.yaml > "$fresh/buf.gen.yaml"
"$buf" generate --template "$fresh/buf.gen.yaml"
diff -r "$fresh/gen" shared/gen || { echo 'shared/gen is not what the contracts say: run `make generate`' >&2; exit 1; }
