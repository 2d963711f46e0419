// The GraphQL door: PostGraphile on /graphql, its explorer on /graphiql.
import "./environment.ts";
import express from "express";
import type { Express, RequestHandler } from "express";
import type { Logger } from "pino";
import { postgraphile } from "postgraphile";
import { grafserv } from "postgraphile/grafserv/express/v4";
import type { GraphQLSchema } from "postgraphile/graphql";
import { withAllowed } from "../door.ts";
import type { Door } from "../door.ts";
import { Database } from "../database.ts";
import { hungUp } from "../hang-up.ts";
import { unlessAway } from "../identity/guards.ts";
import { knowStill } from "../identity/still-known.ts";
import { LoopTurns } from "../loop-turns.ts";
import { Execution, keeping, SMALL } from "./execution.ts";
import { LiveFeed } from "../live/feed.ts";
import type { Postgres } from "../postgres/postgres.ts";
import type { Reads } from "../postgres/reads.ts";
import type { RestRoute } from "../rest/route.ts";
import { RequestConnections } from "./connections.ts";
import { Documents } from "./documents.ts";
import { publicErrors } from "./errors.ts";
import { EXPLORER_FILES, EXPLORER_PATH, explorerFiles, explorerFrame, explorerHeaders } from "./explorer.ts";
import { answerWithin } from "./ask.ts";
import type { AskGraphql } from "./ask.ts";
import { answerErrors, onlyByPost, onlyForEvents, readRequest, readStreamRequest } from "./http.ts";
import { allowedAt } from "./methods.ts";
import { makePreset } from "./preset.ts";
import { asPage } from "../pages/refusal.ts";
import { noteVisitor } from "../pages/visitor.ts";
import { Subscriptions } from "./subscriptions.ts";
import { TextCache } from "./texts.ts";
import { Transports } from "./transports.ts";

/** What the GraphQL door needs. */
export type GraphqlOptions = {
  /** Connects as engagement_server. The caller ends it, after release(). */
  postgres: Pick<Postgres, "requests" | "pool">;
  /** Where requests that only read are answered. */
  reads?: Reads;
  logger: Pick<Logger, "error" | "warn">;
  /** limit for one answer */
  answerMaxBytes: number;
  /** milliseconds of database time that count as one request; not counted by default */
  msPerRequest?: number | undefined;
  /** connections that the server may have open; any number by default */
  maxConnections?: number | undefined;
  /** The routes of REST: a mutation with the name of one of them takes the same input as its body. */
  routes?: readonly Pick<RestRoute, "operationId" | "body">[];
  /** Documents that callers may send by id; none by default. */
  documents?: Documents;
};

/** The parts that serve GraphQL. */
export type Graphql = {
  /** /graphql, behind a key. */
  door: Door;
  /** /graphiql; the page itself needs no key. */
  explorerDoor: Door;
  schema: () => Promise<GraphQLSchema>;
  ask: AskGraphql;
  /** Ends subscriptions, which would last for ever, and accepts no more. */
  hangUp: () => void;
  release: () => Promise<void>;
};

/**
 * Builds the schema from the database and makes it ready to be served.
 * @throws when the database cannot be read or does not give a valid schema; StartError for a document that does not fit it
 */
export async function createGraphql({
  postgres,
  reads,
  logger,
  answerMaxBytes,
  msPerRequest,
  maxConnections,
  routes = [],
  documents = new Documents(),
}: GraphqlOptions): Promise<Graphql> {
  const publicError = publicErrors(logger);
  const connections = new RequestConnections(postgres.requests, answerMaxBytes, reads);
  const bodies = new Map(routes.flatMap(({ operationId, body }) => (body ? [[operationId, body]] : [])));
  const execution = new Execution(publicError, connections, bodies, msPerRequest);
  const instance = postgraphile(makePreset(postgres.pool, { execution, connections }));
  const server = instance.createServ(grafserv);
  const [schema] = await Promise.all([instance.getSchema(), server.ready()]);
  const texts = new TextCache(schema, publicError);
  documents.check((text) => texts.parse(text).errors?.[0]?.message);
  const database = new Database(postgres.requests);
  // Parsing and planning block the event loop.
  const turns = new LoopTurns();
  const subscriptions = new Subscriptions({
    feed: new LiveFeed(new Database(postgres.requests, reads)),
    ...{ texts, turns },
    ...{ schema: keeping(schema, SMALL), publicError, resolvedPreset: instance.getResolvedPreset() },
  });
  const inTurn: RequestHandler = async (request, response, next) => {
    const gone = hungUp(response);
    const since = performance.now();
    // Waiting for a turn can take half a minute, so the caller is identified again afterwards. If that had to
    // wait for a lookup, the turn is over and another one is needed.
    do await turns.take(request.identity.id, gone, since);
    while (await knowStill(request));
    next();
  };
  const opened: Transports[] = [];
  const serve = express.Router();
  await server.addTo(serve as Express, null, false);
  return {
    door: withAllowed(allowedAt, (app, guards) => {
      const transports = new Transports({ subscriptions, documents, turns, maxConnections }, guards);
      opened.push(transports);
      app.get("/graphql", transports.socket);
      const stream = [...guards.key, readStreamRequest(documents), inTurn, transports.stream];
      app.post("/graphql", onlyForEvents, ...stream);
      app.post("/graphql/stream", ...stream);
      app.all("/graphql/stream", ...guards.key, onlyByPost);
      app.all("/graphql", ...guards.key, readRequest(documents), inTurn);
      app.all("/graphql", (request, response, next) => {
        // Grafserv knows only this spelling.
        request.url = request.url.replace(/^[^?]+/, "/graphql");
        void serve(request, response, next);
      });
      app.use("/graphql", answerErrors(publicError));
    }),
    explorerDoor: (app, guards) => {
      app.use(EXPLORER_PATH, asPage, explorerHeaders);
      app.use(EXPLORER_FILES, explorerFiles);
      app.get(EXPLORER_PATH, ...guards.openPage, unlessAway(noteVisitor(database)), explorerFrame);
      app.use((request, response, next) =>
        request.path.startsWith(EXPLORER_PATH) ? serve(request, response, next) : next(),
      );
    },
    schema: async () => instance.getSchema(),
    ask: (request, response, query) =>
      answerWithin({ execution, schema, resolvedPreset: instance.getResolvedPreset() }, query, {
        expressv4: { req: request, res: response },
      }),
    hangUp: () => {
      for (const transports of opened) transports.close();
    },
    release: () => instance.release() as Promise<void>,
  };
}
