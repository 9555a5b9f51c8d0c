#!/usr/bin/env bash
# Builds a stand-in for an official image that cannot be pulled, from programs of this machine, and
# tags it with the official name.
#
#   deploy/compose/standin/build.sh postgres|nats|mailpit|prometheus IMAGE
set -euo pipefail
cd "$(dirname "$0")/../../.."

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
files=$context/files
mkdir -p "$files/bin"

# The shell and the tools that an Alpine image has.
add_busybox() {
	busybox=$(command -v busybox) || { echo "missing: a static busybox. Type: apt-get install busybox-static" >&2; exit 1; }
	cp "$busybox" "$files/bin/busybox"
	busybox --list | grep -v "^busybox$" | while read -r applet; do ln -sf busybox "$files/bin/$applet"; done
}

# Files with the libraries that they are linked with, at their own paths.
add_programs() {
	printf '%s\n' "$@"
	ldd "$@" 2>/dev/null | grep -oE '/[^ ]+ \(0x' | sed 's/ (0x//' | sort -u
}

add_postgres() {
	for pg_config in "${PG_BIN:-/nowhere}/pg_config" $(printf '%s\n' /usr/lib/postgresql/*/bin/pg_config | sort -rV); do
		[ ! -x "$pg_config" ] || break
	done
	local bin lib share
	bin=$("$pg_config" --bindir) lib=$("$pg_config" --pkglibdir) share=$("$pg_config" --sharedir)
	local programs=("$bin"/{postgres,initdb,psql,pg_isready} "$lib"/{plpgsql,dict_snowball,pg_trgm,btree_gin}.so "$lib"/*_and_*.so)
	{
		add_programs "${programs[@]}"
		echo "$share"
		echo /usr/share/zoneinfo
	} | sed "s|^/||" | tar -c -C / --dereference --hard-dereference -T - | tar -x -C "$files"
	for program in postgres initdb psql pg_isready; do ln -s "$bin/$program" "$files/bin/$program"; done
	mkdir -p "$files"/{etc,tmp,var/run/postgresql} "$context/data"
	chmod 1777 "$files/tmp" "$context/data"
	chmod 3777 "$files/var/run/postgresql"
	printf 'root:x:0:0::/root:/bin/sh\npostgres:x:70:70::/var/lib/postgresql:/bin/sh\n' >"$files/etc/passwd"
	printf 'root:x:0:\npostgres:x:70:\n' >"$files/etc/group"
	cp deploy/compose/standin/postgres-entrypoint.sh "$files/docker-entrypoint.sh"
	chmod +x "$files/docker-entrypoint.sh"
}

case $1 in
postgres)
	add_busybox
	add_postgres
	;;
nats)
	add_busybox
	CGO_ENABLED=0 GOOS=linux go -C deploy/herald build -o "$files/bin/nats-server" github.com/nats-io/nats-server/v2
	;;
prometheus)
	add_busybox
	program=$(command -v prometheus) || { echo "missing: prometheus. Type: deploy/setup.sh clients" >&2; exit 1; }
	add_programs "$program" | sed "s|^/||" | tar -c -C / --dereference --hard-dereference -T - | tar -x -C "$files"
	mkdir -p "$context/data"
	;;
mailpit) CGO_ENABLED=0 GOOS=linux go build -o "$files/mailpit" ./deploy/herald/internal/inbox/standin ;;
*)
	echo "usage: $0 postgres|nats|mailpit|prometheus IMAGE" >&2
	exit 1
	;;
esac
DOCKER_BUILDKIT=0 docker build --quiet --tag "$2" --file "deploy/compose/standin/$1.Dockerfile" "$context" 2>/dev/null
