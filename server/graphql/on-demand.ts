// GraphQL for a process that may never need it: PostGraphile is loaded, and its schema built, on the first
// request. That request waits a second or two; until then GraphQL costs neither startup time nor memory.
import express from "express";
import type { ErrorRequestHandler, Express, Router } from "express";
import { withAllowed } from "../door.ts";
import type { Door } from "../door.ts";
import { whileAlive } from "../postgres/heartbeat.ts";
import type { Postgres } from "../postgres/postgres.ts";
import { asPage } from "../pages/refusal.ts";
import type { Graphql, GraphqlOptions } from "./door.ts";
import { EXPLORER_PATH } from "./explorer.ts";
import { allowedAt } from "./methods.ts";

/** The same doors as createGraphql makes. */
export function graphqlOnDemand(
  options: GraphqlOptions & { postgres: Pick<Postgres, "pulse"> },
): Pick<Graphql, "door" | "explorerDoor" | "ask" | "hangUp" | "release"> {
  const { pulse } = options.postgres;
  let building: Promise<Graphql> | undefined;
  let isEnding = false;

  async function build(): Promise<Graphql> {
    const { createGraphql } = await import("./door.ts");
    return createGraphql(options);
  }

  /** Concurrent requests wait for the same build; after a failure the next request tries again. */
  function graphql(): Promise<Graphql> {
    building ??= build().catch((error: unknown) => {
      building = undefined;
      throw error;
    });
    return building;
  }

  const refuse: ErrorRequestHandler = async (error: unknown, request, response, next) => {
    const { answerErrors } = await import("./http.ts");
    const { publicErrors } = await import("./errors.ts");
    return answerErrors(publicErrors(options.logger))(error, request, response, next);
  };

  /** A door that is built on the first request for its path. */
  function onDemand(path: string, name: "door" | "explorerDoor"): Door {
    return (app, guards) => {
      let made: Router | undefined;
      if (name === "explorerDoor") app.use(path, asPage);
      app.use(async (request, response, next) => {
        const asked = request.path.toLowerCase();
        if (asked !== path && !asked.startsWith(`${path}/`)) return next();
        if (!made) {
          const { [name]: door, hangUp } = await whileAlive(pulse, graphql);
          const router = express.Router();
          await door(router as Express, guards);
          made ??= router;
          // A subscription at a door that was built during shutdown would also last for ever.
          if (isEnding) hangUp();
        }
        made(request, response, next);
      });
      if (name === "door") app.use(path, refuse);
    };
  }

  return {
    door: withAllowed(allowedAt, onDemand("/graphql", "door")),
    explorerDoor: onDemand(EXPLORER_PATH, "explorerDoor"),
    ask: async (...asked) => (await whileAlive(pulse, graphql)).ask(...asked),
    hangUp: () => {
      isEnding = true;
      void building?.then(({ hangUp }) => hangUp()).catch(() => undefined);
    },
    release: async () => (await building?.catch(() => undefined))?.release(),
  };
}
