// REST with API keys, with or without the rate limit: the difference is what the limit costs.
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { createApp } from "../server/app.ts";
import { Database } from "../server/database.ts";
import { HoldBack } from "../server/identity/hold-back.ts";
import { KeyRing } from "../server/identity/keys.ts";
import { Sessions } from "../server/identity/sessions.ts";
import { RateLimit } from "../server/identity/rate-limit.ts";
import { LOOKUPS, Postgres } from "../server/postgres/postgres.ts";
import { acceleratorRoutes } from "../server/resources/accelerators.ts";
import { restDoor } from "../server/rest/door.ts";

const databaseUrl = process.env["DATABASE_URL"]!;
const config = loadConfig({});
const postgres = new Postgres({
  url: databaseUrl,
  poolSize: config.databasePoolSize,
  statementTimeoutMs: config.statementTimeoutMs,
  onError: () => undefined,
});
await postgres.start();
const keys = new KeyRing({ connections: postgres.lookups, statements: LOOKUPS, listenUrl: databaseUrl });
await keys.start();
const holdBack = new HoldBack();
const rateLimit = new RateLimit(config.rateLimitPerMinute, databaseUrl, postgres.pulse, holdBack);
const app = await createApp({
  config,
  credentials: { keys, tokens: undefined, sessions: new Sessions(postgres.requests) },
  rateLimit:
    process.env["LIMITED"] === "yes"
      ? rateLimit
      : Object.assign(rateLimit, { count: (...[, , next]: Parameters<RateLimit["count"]>) => next() }),
  holdBack,
  logger: pino({ level: "silent" }),
  doors: [restDoor(acceleratorRoutes, new Database(postgres.requests))],
});
const server = app.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.once("SIGTERM", () => process.exit(0));
