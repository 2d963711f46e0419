// The files in which the service is deployed: who is let at the data, what is restarted, and what has its time to end.
import type { Mistake } from "../mistake.ts";

const deployed = (
  file: string,
  only: string,
  ...[rule, before, after]: [string, string, string]
): Mistake => ({ rule, file, before, after, tests: ["deployment"], only });

const COMPOSE = "docker-compose.yml";
const SERVER = "deploy/kubernetes/server.yaml";
const UNIT = "deploy/systemd/engagement-graph-server.service";

export const DEPLOYED: readonly Mistake[] = [
  deployed(
    COMPOSE,
    "within a network",
    "the server of the compose file does not have the owner's login",
    "      DATABASE_URL_FILE: /run/secrets/server_database_url",
    "      DATABASE_URL_FILE: /run/secrets/database_url",
  ),
  deployed(
    COMPOSE,
    "within a network",
    "database and store are in a network that leads nowhere",
    "    internal: true",
    "    internal: false",
  ),
  deployed(
    COMPOSE,
    "within a network",
    "what runs of ours writes no files of its image",
    "  read_only: true\n",
    "",
  ),
  deployed(
    COMPOSE,
    "within a network",
    "a server that cannot reach its database is not called healthy",
    "127.0.0.1:3000/readyz",
    "127.0.0.1:3000/healthz",
  ),
  deployed(
    COMPOSE,
    "only the server has a port",
    "the service is reached from this machine alone",
    "127.0.0.1:${PORT:-3000}:3000",
    "${PORT:-3000}:3000",
  ),
  deployed(
    SERVER,
    "no owner of the data",
    "a server in the cluster that cannot reach the database is not restarted for it",
    "          livenessProbe:\n            httpGet: { path: /healthz",
    "          livenessProbe:\n            httpGet: { path: /readyz",
  ),
  deployed(
    SERVER,
    "no owner of the data",
    "a server that cannot reach the database is taken out of the service",
    "            httpGet: { path: /readyz",
    "            httpGet: { path: /healthz",
  ),
  deployed(
    SERVER,
    "no owner of the data",
    "a server in the cluster is waited for as long as its requests may last",
    "terminationGracePeriodSeconds: 45",
    "terminationGracePeriodSeconds: 30",
  ),
  deployed(
    SERVER,
    "no owner of the data",
    "the server in the cluster does not have the owner's login",
    "secretName: engagement-server, ",
    "secretName: engagement-owner, ",
  ),
  deployed(
    "deploy/kubernetes/worker.yaml",
    "no owner of the data",
    "the variables of other services are not the worker's settings",
    "      enableServiceLinks: false\n",
    "",
  ),
  deployed(
    "deploy/kubernetes/network.yaml",
    "nobody reaches a part",
    "nobody reaches the migration",
    "values: [worker, migrate]",
    "values: [worker]",
  ),
  deployed(
    UNIT,
    "no owner of the data; what ends",
    "systemd gives the server its own login",
    "secrets/server_database_url",
    "secrets/database_url",
  ),
  deployed(
    UNIT,
    "no owner of the data; what ends",
    "systemd waits for a server as long as its requests may last",
    "TimeoutStopSec=45",
    "TimeoutStopSec=20",
  ),
  deployed(
    "deploy/systemd/engagement-graph-worker.service",
    "no owner of the data; what ends",
    "a worker that has ended is started again",
    "Restart=always\n",
    "",
  ),
  deployed("Dockerfile", "the image runs", "the image runs as a user who may do nothing", "USER node\n", ""),
  deployed(
    "docker/secrets.sh",
    "makes every secret",
    "a password that is in use stays",
    '[ -s "secrets/$1" ] || od',
    "od",
  ),
  deployed(
    "docker/secrets.sh",
    "makes every secret",
    "the folder of the secrets is its owner's alone",
    "umask 077",
    "umask 022",
  ),
  {
    rule: "an alert asks for a metric that there is",
    file: "deploy/prometheus/alerts.yml",
    before: "max(graph_oldest_pending_seconds)",
    after: "max(graph_oldest_pending_second)",
    tests: ["metrics"],
    only: "each alert is about",
  },
];
