// The server as in production, for the REST figures.
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import { startServer } from "../server/main.ts";

const server = await startServer({
  config: loadConfig({ ...process.env, PORT: "0" }),
  databaseUrl: process.env["DATABASE_URL"]!,
  store: createGraphStore(storeUrls(process.env["FUSEKI_URL"] ?? "http://127.0.0.1:9")),
  logger: pino({ level: "info" }, pino.destination(2)),
});
process.stdout.write(`${server.url}\n`);
process.once("SIGTERM", () => process.exit(0));
