#!/usr/bin/env bash
# Generates code and documents once more, elsewhere, and compares: what is committed is
# what the contracts say.
set -euo pipefail
cd "$(dirname "$0")/.."
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
buf=$(GOWORK=off go -C tools tool -n buf)
sed "s#out: shared/gen#out: $fresh/gen#" buf.gen.yaml > "$fresh/buf.gen.yaml"
GOWORK=off "$buf" generate --template "$fresh/buf.gen.yaml"
diff -r "$fresh/gen" shared/gen || { echo 'shared/gen is not what the contracts say: run `make generate`' >&2; exit 1; }
"$buf" build -o - | go run ./deploy/herald/internal/reference/generate "$fresh/docs"
diff -r -x decisions -x viewer -x '*.go' -x go.mod "$fresh/docs" docs || { echo 'docs is not what the contracts say: run `make generate`' >&2; exit 1; }
