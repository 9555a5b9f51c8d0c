#!/usr/bin/env bash
# Generates shared/gen, the shared faults and docs from the contracts. Each is replaced as a whole when the new one is
# complete. With --check they are compared instead, and nothing is replaced.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .build
fresh=$(mktemp -d "$PWD/.build/generate.XXXXXX")
trap '[ -e shared/gen ] || mv "$fresh/old" shared/gen; rm -rf "$fresh"' EXIT
shared=shared/fault/declared.go # in a package that is written by hand, which needs these faults itself
buf=$(GOWORK=off go -C tools tool -n buf)

# missing prints the methods of the contracts that their service lacks in Go, such as Users.LockUser. A method of a
# contract has a message of the contract as a parameter; a store's method of the same name has not. ReadEvents of all
# services is in shared/event.
missing() {
	for file in shared/gen/herald/*/v1/*_grpc.pb.go; do
		service=$(basename "${file%/v1/*}")
		awk '/^type [A-Za-z]*Server interface {/ { name = $2; sub("Server$", "", name) } /^}/ { name = "" }
			name !~ /^(Unsafe|$)/ && /^\t[A-Z]/ { sub(/\(.*/, ""); print name "." $1 }' "$file" |
			while read -r method; do
				grep -rqzE "func \([^)]*\) ${method#*.}\([^)]*context\.Context, [^)]*\*[a-z]+v1\." --include='*.go' \
					"services/$service" shared/event || echo "$method"
			done
	done
}

GOWORK=off "$buf" generate --output "$fresh"
"$buf" build --output "$fresh/image.binpb"
if [ "${1:-}" = --check ]; then
	diff -r "$fresh/shared/gen" shared/gen && diff "$fresh/$shared" "$shared" || { echo 'shared/gen is not what the contracts say: run `make generate`' >&2; exit 1; }
else
	mv shared/gen "$fresh/old"
	mv "$fresh/shared/gen" shared/gen
	mv "$fresh/$shared" "$shared"
fi

# The program that writes the documents must compile with the new contracts.
if methods=$(missing | paste -sd ' ') && [ -n "$methods" ]; then
	echo "docs stays as it is until the methods of the contracts are there in Go: write $methods in the api of" \
		"their service, then run \`make generate\` again. The code of the contracts, shared/gen, is new." >&2
	exit 1
fi
GOWORK=off go -C tools/reference build -o "$fresh/reference" . &&
	go run ./deploy/herald settings > "$fresh/settings" &&
	"$fresh/reference" "$fresh/docs" "$fresh/image.binpb" "$fresh/settings" || {
	echo 'docs stays as it is until the program compiles: mend what is said above, then run `make generate` again.' \
		'The code of the contracts, shared/gen, is new.' >&2
	exit 1
}
if [ "${1:-}" = --check ]; then
	# What is compressed is of what is compared here, and a test of the gateway compares the archive's files.
	(cd "$fresh/docs" && ls -d site *.md *.json) | while read -r name; do
		diff -r "$fresh/docs/$name" "docs/$name" || exit 1
	done ||
		{ echo 'docs is not what the contracts say: run `make generate`' >&2; exit 1; }
else
	cp -r "$fresh/docs/." docs
fi
