// A door is one way into the service. Each has a folder here, with a door.ts in it.
import type { Express, RequestHandler } from "express";

/** What a request must pass before a door that is not open to everybody. */
export type Guards = Readonly<{
  /**
   * A live key or a person's token in the Authorization header, or the session of one of our pages; within
   * the rate limit, and with a URL and headers in UTF-8.
   */
  key: RequestHandler[];
  /** Checks again that a caller is authorized; called again and again for connections that last for hours. */
  again: RequestHandler;
  /** Like `key`, but without sessions; clients that cannot set a header may give the key as ?apiKey=. */
  keyInQuery: RequestHandler[];
  /** Visitors of pages, without an identity if not signed in. Whatever changes data needs requireForm too. */
  page: RequestHandler[];
  /** The same, for pages that also open where a session cannot be looked up. */
  openPage: RequestHandler[];
}>;

/** Adds itself to an application. A page that needs no key ignores the guards. */
export type Door = {
  (app: Express, guards: Guards): void | Promise<void>;
  /** The methods that a path of this door supports, as in the header Allow; undefined for other paths. */
  allowed?: (path: string) => string | undefined;
};

/** A door that says which methods its paths support. */
export function withAllowed(allowed: NonNullable<Door["allowed"]>, door: Door): Door {
  return Object.assign(door, { allowed });
}
