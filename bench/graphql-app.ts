// GraphQL alone, without key check, on the connections of this service or (STOCK=1) on PostGraphile's own,
// which open a transaction for each field: begin, set_config, statement, commit.
import "../server/graphql/environment.ts";
import type { AddressInfo } from "node:net";
import express from "express";
import type { Express } from "express";
import { pino } from "pino";
import { postgraphile } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { grafserv } from "postgraphile/grafserv/express/v4";
import { createPool } from "../db/pool.ts";
import { RequestConnections } from "../server/graphql/connections.ts";
import { publicErrors } from "../server/graphql/errors.ts";
import { Execution } from "../server/graphql/execution.ts";
import { makePreset } from "../server/graphql/preset.ts";
import { loadConfig } from "../config.ts";
import { callerWith } from "../server/identity/identity.ts";
import { Postgres } from "../server/postgres/postgres.ts";

const logger = pino({ level: "error" }, pino.destination(2));
const postgres = new Postgres({
  url: process.env["DATABASE_URL"]!,
  poolSize: 20,
  statementTimeoutMs: 10_000,
  onError: (error) => logger.error(error),
});
const connections = new RequestConnections(postgres.requests, loadConfig({}).answerMaxBytes);
const execution = new Execution(publicErrors(logger), connections);
const preset = makePreset(postgres.pool, { execution, connections });
const pool = createPool(process.env["DATABASE_URL"]!, { max: 20 });
const stock = makePgService({ pool, schemas: ["app_public"], pubsub: false });
const instance = postgraphile(process.env["STOCK"] ? { ...preset, pgServices: [stock] } : preset);

const app = express();
let requests = 0;
app.use(express.json(), (request, _response, next) => {
  // As many keys as callers, so that the share of a single key is not what is measured.
  const keyId = String(requests++ % 16);
  request.identity = callerWith({ keyId, scope: "api_read", ratePerMinute: null });
  next();
});
await instance.createServ(grafserv).addTo(app as Express, null, false);
const server = app.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.once("SIGTERM", () => process.exit(0));
