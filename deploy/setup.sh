#!/bin/sh
# Checks that the programs for `make run` and `make test` are on this machine. On Debian and Ubuntu
# it installs missing ones, elsewhere it prints the command to type. It prints nothing when all are
# there.
#
#   deploy/setup.sh run    Go, Postgres
#   deploy/setup.sh test   Go, Postgres, Chromium, Node.js, oathtool, OpenSSL
#   deploy/setup.sh clients   OAuth clients, proxies, PgBouncer, Patroni, pgBackRest, etcd, Prometheus, Pebble and ip, as
#                             packages of Debian and Ubuntu; elsewhere they are not needed
#
# SETUP_ROOT, for its tests, is the prefix of every absolute path that it checks.
set -eu

root=${SETUP_ROOT-}
configuration=$root/etc/postgresql-common/createcluster.conf

say() { printf 'setup: %s\n' "$*" >&2; }

fail() {
	say "$*"
	exit 1
}

# at_least MINIMUM TEXT returns whether the first number in TEXT is MINIMUM or more.
at_least() {
	number=${2#"${2%%[0-9]*}"}
	number=${number%%[!0-9]*}
	[ "${number:-0}" -ge "$1" ]
}

# Runs outside of the repository, because go.work would make an old Go download a newer one.
has_go() {
	version=$(cd / && GOTOOLCHAIN=local go version 2>/dev/null) || return 1
	version=${version#*go1.}
	at_least 26 "$version"
}

is_postgres() { [ -x "$1/initdb" ] && [ -x "$1/postgres" ] && at_least 15 "$("$1/postgres" --version)"; }

has_postgres() {
	if [ -n "${PG_BIN-}" ]; then
		is_postgres "$PG_BIN" || fail "PG_BIN=$PG_BIN does not hold initdb and postgres of version 15 or later"
		return
	fi
	in_path=$(command -v postgres) || in_path=
	for dir in "${in_path%/*}" "$root"/usr/lib/postgresql/*/bin "$root"/usr/pgsql-*/bin \
		"$root"/opt/homebrew/opt/postgresql*/bin "$root"/usr/local/opt/postgresql*/bin; do
		is_postgres "$dir" && return
	done
	return 1
}

has_chromium() {
	for name in chromium chromium-browser google-chrome google-chrome-stable \
		"$root/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" \
		"$root/Applications/Chromium.app/Contents/MacOS/Chromium"; do
		command -v "$name" >/dev/null && return
	done
	return 1
}

has_node() { version=$(node --version 2>/dev/null) && at_least 20 "$version"; }

# find_missing prints the names of missing Debian packages.
find_missing() {
	missing=
	if [ "$1" = clients ]; then
		for client in usr/sbin/apache2:apache2-bin usr/bin/caddy:caddy usr/sbin/nginx:nginx usr/sbin/haproxy:haproxy \
			usr/lib/apache2/modules/mod_auth_openidc.so:libapache2-mod-auth-openidc \
			usr/lib/apache2/modules/mod_oauth2.so:libapache2-mod-oauth2 \
			usr/lib/python3/dist-packages/authlib:python3-authlib usr/lib/python3/dist-packages/flask:python3-flask \
			usr/lib/python3/dist-packages/requests_oauthlib:python3-requests-oauthlib usr/sbin/pgbouncer:pgbouncer \
			usr/bin/prometheus:prometheus usr/bin/prometheus-alertmanager:prometheus-alertmanager \
			usr/bin/ip:iproute2 usr/bin/pgbackrest:pgbackrest usr/bin/pebble:pebble usr/bin/etcd:etcd-server \
			usr/bin/patroni:patroni; do
			[ -e "$root/${client%%:*}" ] || missing="$missing ${client#*:}"
		done
		missing=${missing# }
		return
	fi
	# With a server in the settings no local one is needed.
	[ "$1" = run ] && [ -n "${HERALD_DATABASE_URL-}${HERALD_DATABASE_URL_FILE-}" ] ||
		has_postgres || missing="$missing postgresql"
	if [ "$1" = test ]; then
		has_chromium || missing="$missing chromium"
		has_node || missing="$missing nodejs"
		command -v oathtool >/dev/null || missing="$missing oathtool"
		command -v openssl >/dev/null || missing="$missing openssl"
	fi
	missing=${missing# }
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

apt_install() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "$@" >/dev/null
}

# install_unstarted PACKAGE installs one whose service would take a port of this machine, and does not start it.
install_unstarted() {
	policy=$root/usr/sbin/policy-rc.d
	if [ -e "$policy" ]; then
		apt_install "$1"
		return
	fi
	printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
	as_root chmod +x "$policy"
	installed=true
	apt_install "$1" || installed=false
	as_root rm "$policy"
	$installed
}

# Keeps Debian's server package from making a database cluster that starts at boot, unless the machine
# has servers already.
forbid_cluster() {
	for server in "$root"/usr/lib/postgresql/*/bin/postgres; do
		[ ! -e "$server" ] || return 0
	done
	apt_install postgresql-common
	grep -q '^ *create_main_cluster' "$configuration" ||
		echo 'create_main_cluster = false' | as_root tee -a "$configuration" >/dev/null
}

# offers PACKAGE returns whether apt has a version that is new enough.
offers() {
	case $1 in
	postgresql) minimum=15 ;;
	nodejs) minimum=20 ;;
	*) minimum=0 ;;
	esac
	candidate=$(LC_ALL=C apt-cache policy "$1" | sed -n 's/^ *Candidate: //p')
	[ "${candidate:-(none)}" != "(none)" ] && at_least "$minimum" "${candidate#*:}" # without the epoch
}

install_with_apt() {
	[ "$(id -u)" = 0 ] || command -v sudo >/dev/null || fail "missing: $missing. As root, type: apt-get install $missing"
	say "missing: $missing. Installing with apt-get"
	as_root apt-get update -qq >/dev/null
	for package in $missing; do
		if offers "$package"; then
			[ "$package" != postgresql ] || forbid_cluster
			case $package in
			caddy | etcd-server | haproxy | nginx | patroni | pgbouncer | prometheus*) install_unstarted "$package" ;;
			*) apt_install "$package" ;;
			esac
		fi
	done
}

node_archive() {
	case $(uname -m) in
	aarch64 | arm64) cpu=arm64 ;;
	*) cpu=x64 ;;
	esac
	echo "https://nodejs.org/dist/v22.11.0/node-v22.11.0-linux-$cpu.tar.gz"
}

# advise prints the command that installs what is missing.
advise() {
	if [ "$(id -u)" = 0 ]; then sudo=; else sudo='sudo '; fi
	if command -v brew >/dev/null; then
		packages=$(echo "$missing" | sed 's/postgresql/postgresql@17/; s/nodejs/node/; s/chromium/google-chrome/
			s/oathtool/oath-toolkit/')
		command="brew install $packages"
	elif command -v dnf >/dev/null; then
		command="${sudo}dnf install $(echo "$missing" | sed 's/postgresql/postgresql-server postgresql-contrib/')"
	elif command -v pacman >/dev/null; then
		command="${sudo}pacman -S $(echo "$missing" | sed 's/oathtool/oath-toolkit/')"
	elif command -v apk >/dev/null; then
		command="${sudo}apk add $(echo "$missing" |
			sed 's/postgresql/postgresql postgresql-contrib/; s/oathtool/oath-toolkit-oathtool/')"
	else
		case $missing in
		nodejs) command="curl -fsSL $(node_archive) | ${sudo}tar -xz --strip-components=1 -C /usr/local" ;;
		chromium) command="${sudo}snap install chromium" ;;
		*) fail "missing: $missing (Postgres 15, Node.js 20 or later). Install with your system's package manager" ;;
		esac
	fi
	fail "missing: $missing. Type: $command"
}

case ${1-} in
run | test) ;;
clients) command -v apt-get >/dev/null || exit 0 ;;
*) fail "usage: deploy/setup.sh run|test|clients" ;;
esac
has_go || fail "Go 1.26 or later is missing. Install it from https://go.dev/dl/ or type: brew install go"
find_missing "$1"
[ -n "$missing" ] || exit 0
if command -v apt-get >/dev/null; then
	install_with_apt
	find_missing "$1"
	[ -n "$missing" ] || exit 0
fi
advise
