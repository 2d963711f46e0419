// A door is one way into the service. Each has a folder here, and in it a door.ts.
import type { Express, RequestHandler } from "express";

/** What a request passes before a door that is not open to everybody. */
type Guards = Readonly<{
  /** A live key in the Authorization header, within its rate limit. */
  key: RequestHandler[];
  /** The same, for clients that cannot set a header: the key may be ?apiKey= instead. */
  keyInQuery: RequestHandler[];
}>;

/** Puts itself on an application. A page that needs no key leaves the guards alone. */
export type Door = (app: Express, guards: Guards) => void | Promise<void>;
