#!/bin/sh
# Whether Fuseki answers, with the password that start.sh was given, which no process list shows.
set -eu
password=${FUSEKI_PASSWORD:-$(cat "${FUSEKI_PASSWORD_FILE:?}")}
printf 'user = "engagement:%s"\n' "$(printf %s "$password" | sed 's/[\\"]/\\&/g')" |
  curl --config - --fail --silent --show-error --output /dev/null "http://127.0.0.1:${FUSEKI_PORT:-3030}/\$/ping"
