// The server as in production, in its own process.
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import { startServer } from "../server/main.ts";

const config = loadConfig({ ...process.env, PORT: "0", RATE_LIMIT_PER_MINUTE: "100000000" });
const server = await startServer({
  config,
  databaseUrl: process.env["DATABASE_URL"]!,
  // The REST figures need no graph: nothing listens there.
  store: createGraphStore(config.graphStore ?? storeUrls("http://127.0.0.1:9")),
  logger: pino({ level: "info" }, pino.destination(2)),
});
process.stdout.write(`${server.url}\n`);
process.once("SIGTERM", () => process.exit(0));
