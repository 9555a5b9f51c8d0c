#!/usr/bin/env bash
# Fuzzes every fuzz test of the repository for FUZZTIME (default 20s), as many at a time as the machine has cores. It
# finds them in the sources, and fails if one of them did not run.
set -euo pipefail
cd "$(dirname "$0")/.."
export FUZZTIME=${FUZZTIME:-20s} cache=${GOCACHE:-$(go env GOCACHE)}/fuzz binaries
binaries=$(mktemp -d)
trap 'rm -rf "$binaries"' EXIT

# fuzz FOLDER NAME runs one fuzz test. What it prints is shown in one piece, if it fails. Up to Go 1.26, the end of the
# time may fail a test that found nothing (https://go.dev/issue/75804); such a test is run again, twice at most.
fuzz() {
	binary=$binaries/${1//\//_}
	mkdir -p "$cache/$1"
	for _ in 1 2 3; do
		if said=$(cd "$1" && "$binary" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$FUZZTIME" -test.parallel 1 \
			-test.fuzzcachedir "$cache/$1" 2>&1) && progress=$(grep -oE '^fuzz: elapsed: .*' <<<"$said" | tail -1); then
			echo "$1 $2 ${progress#fuzz: }"
			return
		fi
		[ "$(sed -n '/^--- FAIL/,$p' <<<"$said" | sed 1d)" = $'    context deadline exceeded\nFAIL' ] || break
	done
	printf '%s %s failed\n%s\n' "$1" "$2" "$said" >&2
	return 1
}
export -f fuzz

all=$(git grep --untracked -E '^func Fuzz[A-Za-z0-9_]+\(' -- '*_test.go' | sed -E 's,(.*)/[^/]*:func (\w+)\(.*,\1 \2,' | sort)
while read -r folder; do
	# A tool of the developers is a module outside of go.work.
	[[ $folder == tools/* ]] && work=off || work=
	GOWORK=$work go -C "$folder" test -c -fuzz . -o "$binaries/${folder//\//_}" .
done < <(cut -d ' ' -f 1 <<<"$all" | uniq)
ran=$(xargs -P "$(nproc)" -L 1 bash -euo pipefail -c 'fuzz "$@" || true' fuzz <<<"$all" | tee >(cat >&2) | wc -l)
wanted=$(wc -l <<<"$all")
echo "fuzzed $ran of $wanted"
[ "$ran" = "$wanted" ]
