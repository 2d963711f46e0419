// How Fuseki is started and asked where it is the service's store.
import type { Mistake } from "../mistake.ts";

const START = { file: "graph/fuseki/start.sh", tests: ["fuseki-scripts"] };
const PING = { file: "graph/fuseki/ping.sh", tests: ["fuseki-scripts"], only: "answers is asked" };
const CONFIG = { file: "graph/fuseki/config.ttl", tests: ["fuseki-scripts"], only: "its one user" };

export const FUSEKI: readonly Mistake[] = [
  {
    ...START,
    rule: "the file with Fuseki's password is for its user alone",
    before: "(umask 077 && printf",
    after: "(umask 022 && printf",
    only: "has the password",
  },
  {
    ...START,
    rule: "Fuseki is started with a password",
    before: " --auth=basic",
    after: "",
    only: "has the password",
  },
  {
    ...START,
    rule: "Fuseki's password may be in a file",
    before: 'if [ -z "${FUSEKI_PASSWORD:-}" ]; then',
    after: 'if [ -n "${FUSEKI_PASSWORD:-}" ]; then',
    only: "has the password",
  },
  {
    ...START,
    rule: "Fuseki's password is hashed to its last character, and nothing behind it",
    before: 'hash=$(printf %s "$FUSEKI_PASSWORD" | md5sum',
    after: 'hash=$(echo "$FUSEKI_PASSWORD" | md5sum',
    only: "has the password",
  },
  {
    ...START,
    rule: "Fuseki listens on this machine alone where it is told to",
    before: "= loopback ]",
    after: "!= loopback ]",
    only: "listens where",
  },
  {
    ...START,
    rule: "Fuseki has the time limit that it is given",
    before: '--timeout="${FUSEKI_TIMEOUT_MS:-3600000}"',
    after: "--timeout=3600000",
    only: "listens where",
  },
  {
    ...START,
    rule: "Java has a stack for what is nested deeply",
    before: "exec java -Xss16m ",
    after: "exec java ",
    only: "listens where",
  },
  {
    ...START,
    rule: "Fuseki ends when its memory is full, to be started again",
    before: " -XX:+ExitOnOutOfMemoryError",
    after: "",
    only: "listens where",
  },
  {
    ...START,
    rule: "options of Java are several",
    before: "${JAVA_OPTS:--Xmx2g} -cp",
    after: '"${JAVA_OPTS:--Xmx2g}" -cp',
    only: "listens where",
  },
  {
    ...START,
    rule: "what queries sort is kept beside the database, not in a file system that may be memory",
    before: ' -Djava.io.tmpdir="$PWD/sorting"',
    after: "",
    only: "listens where",
  },
  {
    ...START,
    rule: "the folder of the database may be named from where Fuseki is started",
    before: '-Djava.io.tmpdir="$PWD/sorting"',
    after: '-Djava.io.tmpdir="$data/sorting"',
    only: "named from where",
  },
  {
    ...START,
    rule: "what a killed Fuseki was sorting is deleted",
    before: "rm -rf sorting\n",
    after: "",
    only: "what a killed server left",
  },
  {
    ...CONFIG,
    rule: "what one caller sorts or tells apart does not take the memory of Fuseki",
    before: "ARQ#spillToDiskThreshold",
    after: "ARQ#spillToDisk",
    tests: ["fuseki-memory"],
    only: "need not fit",
  },
  {
    ...START,
    rule: "what is not there is not kept in the memory of Fuseki",
    before: 's/^{/{ "tdb.node_miss_cache_size": 0,/',
    after: 's/^{/{ "tdb.node_miss_cache_size": 1000,/',
    tests: ["fuseki-memory"],
    only: "not there is not kept",
  },
  {
    ...START,
    rule: "nor in that of one whose database was there before",
    before: "elif ! grep -q node_miss_cache_size tdb2/tdb.cfg; then",
    after: "elif false; then",
    only: "indexes of a database",
  },
  {
    ...START,
    rule: "nor where the database does not say how it was made",
    before: "if [ ! -f tdb2/tdb.cfg ]; then",
    after: "if false; then",
    only: "indexes of a database",
  },
  ...(
    [
      ["what failed queries leave of sorting is bounded", "  (cd sorting && ls -ltn", "  (false && ls -ltn"],
      ["what is new is not left", "ls -ltn", "ls -ltnr"],
      [
        "what is left of sorting may have 4 GB or what is said",
        "FUSEKI_SORTING_MB:-4096} * 1048576",
        "FUSEKI_SORTING_MB:-4096} * 1024",
      ],
      ["what is from before any limit goes", "  find sorting -type f", "  : find sorting -type f"],
      ["what is within a limit stays", "60000 + 5", "60000 + 3"],
    ] as const
  ).map(([rule, before, after]) => ({ ...START, rule, before, after, only: "left of sorting goes" })),
  {
    ...START,
    rule: "no page of another site reads Fuseki",
    before: " --no-cors",
    after: "",
    only: "listens where",
  },
  {
    ...START,
    rule: "a database keeps the indexes that it was made with",
    before: "if [ ! -d tdb2 ]; then\n  mkdir tdb2",
    after: "if true; then\n  mkdir -p tdb2",
    only: "indexes",
  },
  {
    ...START,
    rule: "what a killed Fuseki left does not stop the next",
    before: "rm -f tdb2/tdb.lock\n",
    after: "",
    only: "indexes",
  },
  {
    ...PING,
    rule: "the password with which Fuseki is asked stays out of the command line",
    before: "curl --config - --fail",
    after: 'curl --user "engagement:$password" --config - --fail',
  },
  {
    ...PING,
    rule: "a password with quotes reaches Fuseki as it is",
    before: ` | sed 's/[\\\\"]/\\\\&/g'`,
    after: "",
  },
  {
    ...PING,
    rule: "Fuseki is not healthy when it answers with an error",
    before: " --fail --silent",
    after: " --silent",
  },
  {
    ...CONFIG,
    rule: "no query makes Fuseki call another server",
    before: 'ja:cxtValue "false"',
    after: 'ja:cxtValue "true"',
  },
  {
    ...CONFIG,
    rule: "Fuseki is for its one user",
    before: '    fuseki:allowedUsers "engagement" ;\n',
    after: "",
  },
  {
    ...CONFIG,
    rule: "Fuseki has its doors where the service looks for them",
    before: 'fuseki:operation fuseki:gsp-rw ; fuseki:name "data"',
    after: 'fuseki:operation fuseki:gsp-r ; fuseki:name "data"',
  },
];
