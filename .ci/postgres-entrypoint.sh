#!/bin/bash
# Makes a PostgreSQL from Debian's packages behave as the official image does for testcontainers: reads POSTGRES_USER,
# POSTGRES_PASSWORD and POSTGRES_DB, and says «ready to accept connections» once for itself and once for the world.
set -euo pipefail
bin=$(echo /usr/lib/postgresql/*/bin)
data=/var/lib/postgresql/data
user=${POSTGRES_USER:-postgres}
install -d -o postgres -g postgres -m 700 "$data"
install -d -o postgres -g postgres /var/run/postgresql
as() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
if [ ! -s "$data/PG_VERSION" ]; then
  password=$(mktemp)
  echo "${POSTGRES_PASSWORD:-postgres}" >"$password"
  chown postgres "$password"
  as "$bin/initdb" -D "$data" -U "$user" --pwfile="$password" --auth-host=scram-sha-256 --auth-local=trust -E UTF8 --locale=C >/dev/null
  echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
  as "$bin/pg_ctl" -D "$data" -o "-c listen_addresses=''" -w start
  if [ "${POSTGRES_DB:-$user}" != postgres ]; then as "$bin/createdb" -h /var/run/postgresql -U "$user" "${POSTGRES_DB:-$user}"; fi
  as "$bin/pg_ctl" -D "$data" -m fast -w stop
fi
exec setpriv --reuid=postgres --regid=postgres --init-groups "$bin/postgres" -D "$data" -c listen_addresses='*' "$@"
