#!/bin/sh
# Runs Fuseki with config.ttl in the foreground. Needs Java 17.
#   FUSEKI_PASSWORD    of the user "engagement"; or else
#   FUSEKI_PASSWORD_FILE  a file with it
#   FUSEKI_JAR         the server's jar; default /opt/fuseki/fuseki-server.jar
#   FUSEKI_DATA        folder of the database; default /var/lib/fuseki
#   FUSEKI_PORT        default 3030
#   FUSEKI_HOST        "loopback" to listen on this machine only; default all interfaces
#   FUSEKI_TIMEOUT_MS  the longest that a query may take, whatever limit comes with it; default 3600000, for the
#                      service looks at whole graphs. What it passes on for callers comes with SPARQL_TIMEOUT_MS.
#   FUSEKI_SORTING_MB  how many MB of files queries may have that sort; default 4096. Beyond, the oldest go, and
#                      with each the query that needs it.
#   JAVA_OPTS          for instance -Xmx4g
set -eu
if [ -z "${FUSEKI_PASSWORD:-}" ]; then
  FUSEKI_PASSWORD=$(cat "${FUSEKI_PASSWORD_FILE:?FUSEKI_PASSWORD or FUSEKI_PASSWORD_FILE must be set}")
fi
here=$(cd "$(dirname "$0")" && pwd)
jar=${FUSEKI_JAR:-/opt/fuseki/fuseki-server.jar}
data=${FUSEKI_DATA:-/var/lib/fuseki}

mkdir -p "$data"
cd "$data"

# Hashed, so that no character of the password can mean anything in the file's format.
if command -v md5sum >/dev/null; then
  hash=$(printf %s "$FUSEKI_PASSWORD" | md5sum | cut -c1-32)
else
  hash=$(printf %s "$FUSEKI_PASSWORD" | md5 -q)
fi
(umask 077 && printf 'engagement: MD5:%s\n' "$hash" >passwd)

# Every index slows down each write. These four find all that the default six find: a graph is read along GSPO, and
# lookups across graphs, or by value within one, use the others. The file belongs to the database that was created
# with it: without it TDB2 would read indexes that have not been written.
if [ ! -d tdb2 ]; then
  mkdir tdb2
  echo '{ "tdb.quad_indexes": ["GSPO", "SPOG", "POSG", "OSPG"] }' >tdb2/tdb.cfg
fi

# TDB2 remembers a thousand terms that it was asked for and does not have, however long they are, until it ends: whoever may ask
# could fill its memory with them. This may be changed with the database there.
if [ ! -f tdb2/tdb.cfg ]; then
  echo '{ "tdb.node_miss_cache_size": 0 }' >tdb2/tdb.cfg
elif ! grep -q node_miss_cache_size tdb2/tdb.cfg; then
  sed 's/^{/{ "tdb.node_miss_cache_size": 0,/' tdb2/tdb.cfg >tdb2/tdb.cfg.new
  mv tdb2/tdb.cfg.new tdb2/tdb.cfg
fi

# A killed server leaves its lock behind, and by now its process id may belong to another process, which TDB2 would
# take for a running server. Only one server is ever given this folder.
rm -f tdb2/tdb.lock

# What queries sort, which may be more than a file system in memory holds; a killed server leaves it behind.
rm -rf sorting
mkdir -p sorting

# A query that fails in the middle of sorting leaves its files behind: whoever may ask could fill the volume with them,
# which is also that of the database. The loop ends with the server, which has its process id from here on.
bytes=$((${FUSEKI_SORTING_MB:-4096} * 1048576))
longest=${FUSEKI_TIMEOUT_MS:-3600000}
# Of two limits, "first row,all", the second; where it is no number above 0 there is none, and nothing is too old.
longest=${longest##*,}
case $longest in
  '' | 0* | *[!0-9]*) longest=3000000000000 ;;
esac
minutes=$((longest / 60000 + 5))
# What vanishes while it is looked at is no fault that ends it.
set +e
while kill -0 $$ 2>/dev/null; do
  find sorting -type f -mmin +$minutes -exec rm -f {} +
  (cd sorting && ls -ltn | awk -v most=$bytes '{ sum += $5 } sum > most { print $9 }' | xargs rm -f)
  sleep 5
done </dev/null >/dev/null 2>&1 &
set -e

host_option=
if [ "${FUSEKI_HOST:-}" = loopback ]; then host_option=--localhost; fi

# The stack is for queries that are nested as deeply as the service lets pass, through which Jena walks by recursion. A server
# whose memory was full may have lost the threads that take connections, and nobody would be answered: whoever supervises it starts it again.
# shellcheck disable=SC2086 # JAVA_OPTS is a list
exec java -Xss16m -XX:+ExitOnOutOfMemoryError -Djava.io.tmpdir="$PWD/sorting" \
  -Dlog4j2.configurationFile="$here/log4j2.properties" ${JAVA_OPTS:--Xmx2g} -cp "$jar" org.apache.jena.fuseki.main.cmds.FusekiMainCmd \
  --config="$here/config.ttl" --passwd=passwd --auth=basic \
  --port="${FUSEKI_PORT:-3030}" $host_option --no-cors --ping --compact \
  --timeout="${FUSEKI_TIMEOUT_MS:-3600000}"
