// A door is one way into the service. Each has a folder here, and in it a door.ts.
import type { Express, RequestHandler } from "express";

/** What a request must pass before a door that is not open to everybody. */
type Guards = Readonly<{
  /** A live key in the Authorization header, within its rate limit, and an address and headers in UTF-8. */
  key: RequestHandler[];
  /** The same, for clients that cannot set a header: the key may be given as ?apiKey= instead. */
  keyInQuery: RequestHandler[];
}>;

/** Adds itself to an application. A page that needs no key ignores the guards. */
export type Door = (app: Express, guards: Guards) => void | Promise<void>;
