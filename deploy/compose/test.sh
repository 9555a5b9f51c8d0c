#!/usr/bin/env bash
# Runs deploy/herald/test/containers/compose_test.go, which starts docker-compose.yml under its own
# project name. Uses the running engine, or starts one (as root) and stops it afterwards. Builds
# stand-ins for base images that cannot be pulled. Removes everything at the end.
#
#   deploy/compose/test.sh          run the test
#   deploy/compose/test.sh engine   only report whether there is an engine, or one can be started
set -euo pipefail
cd "$(dirname "$0")/../.."

say() { echo "compose-test: $*" >&2; }

work=$(mktemp -d)
project=herald-test-$$
export IMAGE=herald:test-$$
made=("$IMAGE")
engine=

clean_up() {
	if docker info >/dev/null 2>&1; then
		COMPOSE_PROJECT_NAME=$project docker compose down --volumes --remove-orphans --timeout 5 >/dev/null 2>&1 || true
		docker image rm --force "${made[@]}" >/dev/null 2>&1 || true
	fi
	if [ -n "$engine" ]; then
		kill "$engine" 2>/dev/null || true
		wait "$engine" || true
	fi
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# Starts an engine with its own socket and data directory. It has its own session, so that a ^C does
# not end it before clean_up.
start_engine() {
	setsid dockerd --host "unix://$work/docker.sock" --data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/pid" \
		--bridge none >"$work/dockerd.log" 2>&1 &
	engine=$!
	export DOCKER_HOST=unix://$work/docker.sock
	until docker info >/dev/null 2>&1; do
		kill -0 "$engine" 2>/dev/null || { tail -3 "$work/dockerd.log" >&2; exit 1; }
		sleep 0.2
	done
}

find_engine() {
	! docker info >/dev/null 2>&1 || return 0
	command -v dockerd >/dev/null || { say "no Docker engine answers. Start it, or as root, type: apt-get install docker.io iptables busybox-static"; exit 1; }
	[ "$(id -u)" = 0 ] || { say "no Docker engine answers. Start it: only root can do so for a while"; exit 1; }
	say "no Docker engine answers: starting one"
	start_engine
}

# Finds the compose plugin, or builds it at the version of tools/compose.
find_compose() {
	! docker compose version >/dev/null 2>&1 || return 0
	say "no compose plugin: using the one of tools/compose, whose first build takes minutes"
	DOCKER_HOST=${DOCKER_HOST-$(docker context inspect --format '{{.Endpoints.docker.Host}}')}
	export DOCKER_HOST DOCKER_CONFIG=$work/config
	mkdir -p "$DOCKER_CONFIG/cli-plugins"
	ln -s "$(GOWORK=off go -C tools/compose tool -n cmd)" "$DOCKER_CONFIG/cli-plugins/docker-compose"
	docker compose version >/dev/null
}

find_images() {
	for image in postgres:17-alpine nats:2.15-alpine axllent/mailpit prom/prometheus:v3.5.0; do
		if ! docker image inspect "$image" >/dev/null 2>&1 && ! timeout 120 docker pull --quiet "$image" >/dev/null 2>&1; then
			name=${image##*/}
			say "$image cannot be pulled: building a stand-in from this machine's programs"
			made+=("$image")
			deploy/compose/standin/build.sh "${name%%:*}" "$image" >/dev/null
		fi
	done
}

find_engine
[ "${1-}" != engine ] || exit 0
find_compose
find_images
make --no-print-directory images >"$work/images.log" 2>&1 || { tail -20 "$work/images.log" >&2; exit 1; }
COMPOSE_PROJECT_NAME=$project go test -tags compose -count 1 -timeout 20m -run '^TestCompose$' -v ./deploy/herald/test/containers
