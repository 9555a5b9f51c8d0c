#!/bin/sh
# Builds the binary of the containers' image, as small as it can be. Inlining makes it a tenth larger, so only those
# packages are inlined in which a request spends its time, and those of OpenTelemetry whose many constants are code
# otherwise.
#
#   deploy/image.sh FILE
set -eu
set -- -o "$1"
for package in runtime internal sync crypto/internal bytes strings strconv hash golang.org/x/crypto \
	google.golang.org/protobuf/internal/impl google.golang.org/protobuf/encoding/protowire \
	google.golang.org/protobuf/proto github.com/jackc/pgx/v5/pgproto3 \
	go.opentelemetry.io/otel/attribute go.opentelemetry.io/otel/semconv; do
	set -- "$@" "-gcflags=$package/...="
done
cd "$(dirname "$0")/.."
CGO_ENABLED=0 GOOS=linux exec go build -trimpath -tags grpcnotrace,container -ldflags '-s -w -funcalign=1' -gcflags=all=-l "$@" \
	./deploy/herald/container
