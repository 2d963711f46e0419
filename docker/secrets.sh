#!/bin/sh
# Makes the missing secrets of docker-compose.yml, in the folder secrets/ beside it. Existing passwords stay, because
# PostgreSQL and Fuseki keep the ones that they were first started with.
set -eu
cd "$(dirname "$0")/.."
umask 077
mkdir -p secrets

password() {
  [ -s "secrets/$1" ] || od -An -N24 -tx1 /dev/urandom | tr -d ' \n' >"secrets/$1"
}
password postgres_password
password server_password
password fuseki_password
printf 'postgres://engagement:%s@database:5432/engagement' "$(cat secrets/postgres_password)" >secrets/database_url
printf 'postgres://engagement_server:%s@database:5432/engagement' "$(cat secrets/server_password)" >secrets/server_database_url

# Each file is mounted by itself into containers that run as other users than this one, so it must be readable by all; on this
# machine the permissions of the folder keep everybody else out.
chmod 644 secrets/*
echo "The secrets are in $(pwd)/secrets. Keep a copy elsewhere."
