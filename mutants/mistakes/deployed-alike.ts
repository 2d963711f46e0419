// The ways to deploy the service, where one says otherwise than another, and the dashboard and alerts, where they ask for what nobody tells.
import type { Mistake } from "../mistake.ts";

type Slip = [rule: string, before: string, after: string];
const slips = (tests: string, file: string, only: string, ...all: Slip[]): Mistake[] =>
  all.map(([rule, before, after]) => ({ rule, file, before, after, tests: [tests], only }));

const ALIKE = "deployed-alike";
const NAMES = "deployed-names";
const WATCHING = "watching";
const COMPOSE = "docker-compose.yml";
const BOARD = "deploy/grafana/engagement-graph.json";
const ALERTS = "deploy/prometheus/alerts.yml";
const KUBERNETES = "deploy/kubernetes";
const STORE = "graph/fuseki/Dockerfile";

export const DEPLOYED_ALIKE: readonly Mistake[] = [
  ...slips(
    ALIKE,
    COMPOSE,
    "named from outside",
    [
      "the mail server of the compose file is the one that is named",
      "SMTP_URL: ${SMTP_URL:-}",
      "SMTP_URL: ${SMTP_URI:-}",
    ],
    [
      "the addresses of the graph's data are set where the compose file is used",
      "GRAPH_DATA_URL: ${GRAPH_DATA_URL:-}",
      "GRAPH_DATA_URL: ${NAMESPACE_URL:-}",
    ],
    ["persons can sign in with tokens under compose", "  OIDC_AUDIENCE: ${OIDC_AUDIENCE:-}\n", ""],
  ),
  ...slips(ALIKE, COMPOSE, "asked where it listens", [
    "the service asks the store's dataset",
    "http://fuseki:3030/engagement",
    "http://fuseki:3030/ds",
  ]),
  ...slips(ALIKE, `${KUBERNETES}/settings.env`, "asked where it listens", [
    "the service signs in at the store as its user",
    "FUSEKI_USER=engagement",
    "FUSEKI_USER=admin",
  ]),
  ...slips(ALIKE, COMPOSE, "as much memory", [
    "the store has room for its files beside Java's memory",
    "-Xmx2g",
    "-Xmx4g",
  ]),
  ...slips(
    ALIKE,
    COMPOSE,
    "same time to end",
    ["compose waits for what has begun when a part is ended", "  stop_grace_period: 45s\n", ""],
    [
      "the database has time to write what it has in memory",
      "stop_grace_period: 90s",
      "stop_grace_period: 9s",
    ],
    ["a server has the memory that it has elsewhere", "memory: 1g, pids: 200", "memory: 100m, pids: 200"],
  ),
  ...slips(ALIKE, `${KUBERNETES}/worker.yaml`, "same time to end", [
    "a worker in the cluster has the memory that it has elsewhere",
    "limits: { memory: 1Gi }",
    "limits: { memory: 1Mi }",
  ]),
  ...slips(ALIKE, COMPOSE, "what is watched", [
    "the worker's metrics are served",
    '      METRICS_PORT: 9464\n    expose: ["9464"]\n    depends_on:\n      migrate:\n        condition: service_completed_successfully\n      fuseki',
    '    expose: ["9464"]\n    depends_on:\n      migrate:\n        condition: service_completed_successfully\n      fuseki',
  ]),
  ...slips(ALIKE, `${KUBERNETES}/settings.env`, "what is watched", [
    "the port of the metrics is the one that the pods name",
    "METRICS_PORT=9464",
    "METRICS_PORT=9646",
  ]),
  ...slips(ALIKE, "deploy/systemd/engagement-graph-worker.service", "what is watched", [
    "server and worker on one machine have settings of their own",
    "EnvironmentFile=-/etc/engagement-graph/settings-worker\n",
    "",
  ]),
  ...slips(
    ALIKE,
    COMPOSE,
    "has a right",
    ["what a part leaves behind is waited for", "  init: true\n", ""],
    [
      "the database may do what its entry point needs",
      "cap_add: [CHOWN, DAC_OVERRIDE, FOWNER, SETGID, SETUID]",
      "cap_add: [CHOWN, FOWNER, SETGID, SETUID]",
    ],
    ["a probe ends before the next one", "      interval: 60s", "      interval: 6s"],
  ),
  ...slips(
    ALIKE,
    "Dockerfile",
    "asks how a part is",
    ["a server that is not ready is not called healthy by its image", "answer.ok ? 0 : 1", "answer ? 0 : 1"],
    [
      "a server that does not answer is not called healthy by its image",
      "() => process.exit(1))",
      "() => process.exit(0))",
    ],
    ["the image gives a server its time to start", "--start-period=30s", "--start-period=3s"],
  ),
  ...slips(ALIKE, COMPOSE, "asks how a part is", [
    "a server that is not ready is not called healthy by compose",
    "answer.ok ? 0 : 1",
    "answer.ok ? 1 : 0",
  ]),
  ...slips(
    ALIKE,
    STORE,
    "the store's image",
    ["Fuseki is where its script looks for it", "  /opt/fuseki/fuseki-server.jar", "  /opt/fuseki.jar"],
    [
      "the image's Fuseki is the one that is tested",
      "jena-fuseki-server/5.6.0/jena-fuseki-server-5.6.0.jar",
      "jena-fuseki-server/5.5.0/jena-fuseki-server-5.5.0.jar",
    ],
    ["the image has what its probe runs", "log4j2.properties start.sh ping.sh", "log4j2.properties start.sh"],
    ["Fuseki can write where its database is", "--home-dir /var/lib/fuseki", "--home-dir /home/fuseki"],
    ["Fuseki does not run as root", "USER fuseki\n", ""],
  ),
  ...slips(
    ALIKE,
    `${KUBERNETES}/server.yaml`,
    "in nothing else by mistake",
    ["a pod runs as the image's user", "runAsUser: 1000", "runAsUser: 0"],
    [
      "nobody else reads a pod's secrets",
      "secretName: engagement-server, defaultMode: 0440",
      "secretName: engagement-server, defaultMode: 0444",
    ],
  ),
  ...slips(ALIKE, `${KUBERNETES}/worker.yaml`, "in nothing else by mistake", [
    "what runs in the cluster can read its secrets",
    "        fsGroup: 1000\n",
    "",
  ]),
  ...slips(
    ALIKE,
    "deploy/systemd/engagement-graph-server.service",
    "in nothing else by mistake",
    ["a server that ends at once is not started a hundred times a second", "RestartSec=2\n", ""],
    ["the server's settings are those of production", "Environment=NODE_ENV=production\n", ""],
    ["the server starts when there is a network", "After=network-online.target ", "After="],
  ),
  ...slips(
    NAMES,
    `${KUBERNETES}/kustomization.yaml`,
    "the secrets, settings and image",
    [
      "the example makes the secret that the server reads",
      "generic engagement-server",
      "generic engagement-login",
    ],
    [
      "the example's store secret has the name of its file",
      "--from-literal=fuseki_password",
      "--from-literal=password",
    ],
    ["the settings have the name by which the pods ask", "- name: engagement-settings", "- name: engagement"],
    ["the example runs this release", "newTag: 0.2.0", "newTag: 0.1.0"],
  ),
  ...slips(
    NAMES,
    `${KUBERNETES}/server.yaml`,
    "has time to start",
    [
      "a server in the cluster has two minutes to start",
      "failureThreshold: 60",
      "failureThreshold: 6\n            successThreshold: 1",
    ],
    [
      "a server that is busy for a moment is not restarted",
      "timeoutSeconds: 5\n            failureThreshold: 6",
      "timeoutSeconds: 1\n            failureThreshold: 6",
    ],
  ),
  ...slips(NAMES, `${KUBERNETES}/server.yaml`, "about the pods of its part", [
    "servers are spread over machines",
    "topologyKey: kubernetes.io/hostname",
    "topologyKey: kubernetes.io/os",
  ]),
  ...slips(NAMES, `${KUBERNETES}/migrate.yaml`, "about the pods of its part", [
    "a migration that fails begins in a new pod",
    "restartPolicy: Never",
    "restartPolicy: OnFailure",
  ]),
  ...slips(
    NAMES,
    "docker/server-login.sh",
    "is given the server's login",
    ["the server's login has no right of its owner's roles", "login noinherit password", "login password"],
    ["a database without the server's login is none", "--set=ON_ERROR_STOP=1 ", ""],
    ["a password with quotes is the login's as it is", "password :'password'", "password ':password'"],
  ),
  ...slips("image", ".dockerignore", "nothing is let into", [
    "secrets stay out of the image",
    "*\n!package.json",
    "!package.json",
  ]),
  ...slips(
    "image",
    "Dockerfile",
    "is installed in it",
    ["no package runs a script while the image is built", " --ignore-scripts", ""],
    [
      "the image's Node is the release that npm brings",
      "FROM node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6\nENV",
      "FROM node:24.20.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6\nENV",
    ],
  ),
  ...slips("image", "package.json", "is installed in it", [
    "what the service imports is no tool of its developers",
    '    "diff": "^9.0.0",\n',
    "",
  ]),
  ...slips(
    WATCHING,
    BOARD,
    "by labels that they have",
    ["a panel asks by labels that the metric has", "sum by (code, status) (", "sum by (codes, status) ("],
    ["connections in use are those that are used", 'state=\\"used\\"', 'state=\\"busy\\"'],
    ["a panel asks for a metric that there is", "max(mails_waiting)", "max(mails_pending)"],
  ),
  ...slips(
    WATCHING,
    BOARD,
    "what only grows",
    [
      "requests are shown by their rate",
      "sum by (route) (rate(http_request_duration_seconds_count[$__rate_interval]))",
      "sum by (route) (http_request_duration_seconds_count)",
    ],
    ["what waits is shown as it is", "max(graph_records_pending)", "max(rate(graph_records_pending[5m]))"],
  ),
  ...slips(WATCHING, BOARD, "not added up", [
    "mails are not counted once for every worker",
    "max(mails_waiting)",
    "sum(mails_waiting)",
  ]),
  ...slips(WATCHING, ALERTS, "not added up", [
    "failed jobs are not counted once for every worker",
    "max by (task) (jobs_failed)",
    "sum by (task) (jobs_failed)",
  ]),
  ...slips(
    WATCHING,
    BOARD,
    "called what it is",
    ["the line of a quantile is called by it", '"legendFormat": "p95"', '"legendFormat": "p99.5"'],
    ["a quantile is the one that its line says", "histogram_quantile(0.5,", "histogram_quantile(0.05,"],
    [
      "a quantile is made of a histogram's bounds",
      "sum by (le, pool) (rate(database_pool_wait_seconds_bucket",
      "sum by (pool) (rate(database_pool_wait_seconds_bucket",
    ],
  ),
  ...slips(WATCHING, ALERTS, "called what it is", [
    "an alert about one in a hundred asks for one in a hundred",
    "histogram_quantile(0.99, sum by (le) (",
    "histogram_quantile(0.9, sum by (le) (",
  ]),
  ...slips(WATCHING, BOARD, "can be told apart", [
    "lines of jobs tell their outcome",
    "{{task}} {{outcome}}",
    "{{task}}",
  ]),
  ...slips(WATCHING, BOARD, "one unit", [
    "a panel in bytes shows bytes",
    '"expr": "process_resident_memory_bytes"',
    '"expr": "nodejs_eventloop_lag_p50_seconds"',
  ]),
  ...slips(WATCHING, BOARD, "everything that the service", [
    "it is shown how many records were refused",
    "max(graph_records_rejected)",
    "max(graph_records_pending)",
  ]),
  ...slips(
    WATCHING,
    ALERTS,
    "by labels that they have",
    ["no alert is about the graph's good states", "current|rebuilding", "currrent|rebuilding"],
    ["slow queries of the graph are no alert", 'route!="/v0/sparql"', 'route!="/sparql"'],
  ),
];
