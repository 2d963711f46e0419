// The SPARQL door in its own application: it needs a graph store, but no database.
import type { AddressInfo } from "node:net";
import express from "express";
import { pino } from "pino";
import type { Logger } from "pino";
import { errorHandler } from "../../server/errors.ts";
import { sparqlDoor } from "../../server/sparql/door.ts";
import { callerWith } from "../../server/identity/identity.ts";
import { SparqlEndpoint } from "../../server/sparql/endpoint.ts";
import type { SparqlOptions } from "../../server/sparql/endpoint.ts";

/** A door that is listening; the key of a request is what its header `x-key` says. */
export type RunningDoor = { url: string; stop: () => Promise<void> };

/** In milliseconds: no machine is so busy that a text that is read at once elsewhere takes as long. */
const READING_MS = 60_000;

/** Takes {@link READING_MS} to read a text, unless another time is given; undefined is the door's own. */
export async function startSparqlDoor(
  options: Omit<SparqlOptions, "namedGraphs" | "concurrency"> & Partial<SparqlOptions>,
  logger: Pick<Logger, "warn"> = pino({ level: "silent" }),
  failures: Pick<Logger, "error"> = pino({ level: "silent" }),
): Promise<RunningDoor> {
  const app = express();
  const withKey: express.RequestHandler = (request, _response, next) => {
    const keyId = request.get("x-key") ?? "a key";
    request.identity = callerWith({ keyId, scope: "api_read", ratePerMinute: null });
    next();
  };
  const endpoint = new SparqlEndpoint({ namedGraphs: [], concurrency: 3, readingMs: READING_MS, ...options });
  await sparqlDoor({ endpoint, logger })(app, {
    key: [withKey],
    again: withKey,
    keyInQuery: [withKey],
    page: [withKey],
    openPage: [withKey],
  });
  app.use(errorHandler(failures as Logger));
  const server = app.listen(0, "127.0.0.1");
  // Its callers are in this process, which may be busy for longer than they and Node would keep a connection open.
  server.keepAliveTimeout = 60_000;
  await new Promise((listening) => void server.once("listening", listening));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v0/sparql`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((closed) => void server.close(closed));
    },
  };
}
