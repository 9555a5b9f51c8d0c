#!/bin/sh
# The part of the official image's entrypoint that docker-compose.yml uses.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
	chmod 700 "$PGDATA"
	initdb --locale=C --encoding=UTF8 --username=postgres --pwfile="$POSTGRES_PASSWORD_FILE" >/dev/null
	echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
	echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
fi
exec "$@"
