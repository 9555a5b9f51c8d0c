#!/usr/bin/env bash
# Builds the archives of a release, with checksums and a list of the modules in them (SBOM, CycloneDX), into
# .build/release. It builds everything twice, in two folders and with an empty cache the second time, and fails unless
# both are the same, bit for bit. So anybody can check that an archive is of this source.
#
#   deploy/release.sh VERSION     such as 1.2.0, with a section of CHANGELOG.md, or 1.2.0-rc.1
#
# PLATFORMS are those to build for, by default linux/amd64 linux/arm64 darwin/arm64.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
	echo "release: $*" >&2
	exit 1
}

version=${1-}
platforms=${PLATFORMS:-linux/amd64 linux/arm64 darwin/arm64}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || fail "usage: deploy/release.sh VERSION, such as 1.2.0"
[[ $version == *-* ]] || grep -q "^## $version\b" CHANGELOG.md || fail "CHANGELOG.md has no section ## $version"
[ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed: a release is of a commit"
tar --version | grep -q GNU || fail "GNU tar is needed, as on Linux"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
commit_time=$(git log -1 --format=%ct)

# build FOLDER CACHE writes the archives into FOLDER/release.
build() {
	git clone --quiet --shared . "$1/source"
	mkdir -p "$1/release"
	for platform in $platforms; do
		name=herald_${version}_${platform%/*}_${platform#*/}
		mkdir -p "$1/$name"
		(cd "$1/source" && CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} GOCACHE=$2 go build -trimpath -buildvcs=true \
			-ldflags "-s -w -X herald/deploy/herald/internal/command.release=$version" -o "$1/$name/herald" ./deploy/herald)
		cp "$1/source/LICENSE" "$1/source/README.md" "$1/source/CHANGELOG.md" "$1/$name"
		tar --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u=rwX --mtime="@$commit_time" -C "$1" -cf - "$name" |
			gzip -9n >"$1/release/$name.tar.gz"
	done
	first=herald_${version}_$(echo "${platforms%% *}" | tr / _)
	GOWORK=off go -C tools/sbom tool cyclonedx-gomod bin -json -noserial -std -version "$version" \
		"$1/$first/herald" 2>/dev/null | sed '/"timestamp":/d' >"$1/release/herald_$version.cdx.json"
	(cd "$1/release" && sha256sum -- * >SHA256SUMS)
}

build "$work/a" "$(go env GOCACHE)"
build "$work/b/elsewhere" "$work/cache"
diff -r "$work/a/release" "$work/b/elsewhere/release" || fail "the two builds differ"
rm -rf .build/release
mkdir -p .build
mv "$work/a/release" .build/release
cat .build/release/SHA256SUMS
