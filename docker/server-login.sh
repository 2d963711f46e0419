#!/bin/sh
# The PostgreSQL image runs this when it creates its cluster. It creates the server's login, before the migrations grant it anything.
set -eu
psql --set=ON_ERROR_STOP=1 --set=password="$(cat /run/secrets/server_password)" \
  --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
create role engagement_server login noinherit password :'password';
SQL
