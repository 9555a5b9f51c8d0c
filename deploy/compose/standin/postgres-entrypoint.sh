#!/bin/sh
# What docker-compose.yml uses of the official image's entrypoint.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
	chmod 700 "$PGDATA"
	initdb --locale=C --encoding=UTF8 --username=postgres --pwfile="$POSTGRES_PASSWORD_FILE" >/dev/null
	echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
	echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
fi
exec "$@"
