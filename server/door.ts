// A door is one way into the service. Each has a folder here, and in it a door.ts.
import type { Express, RequestHandler } from "express";

/** What a request must pass before a door that is not open to everybody. */
export type Guards = Readonly<{
  /** A live key or a person's token in the Authorization header, or a session of one of our pages, within its rate limit, and an address and headers in UTF-8. */
  key: RequestHandler[];
  /** Whether a caller who has passed is still let in: who is told for hours is asked again and again. */
  again: RequestHandler;
  /** Without sessions, but for clients that cannot set a header: a key may be given as ?apiKey= instead. */
  keyInQuery: RequestHandler[];
  /** The visitor of a page, who may be nobody: without an identity then. What a form changes needs requireForm beside. */
  page: RequestHandler[];
}>;

/** Adds itself to an application. A page that needs no key ignores the guards. */
export type Door = {
  (app: Express, guards: Guards): void | Promise<void>;
  /** The methods that a path of this door supports, as in the header Allow; undefined for the paths of others. */
  allowed?: (path: string) => string | undefined;
};

/** A door that says which methods its paths support. */
export function withAllowed(allowed: NonNullable<Door["allowed"]>, door: Door): Door {
  return Object.assign(door, { allowed });
}
