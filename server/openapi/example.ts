import type { Scope } from "../identity/lookup.ts";

/** A request and its answer, as data. */
export type Example = Readonly<{
  /** The least scope that a key needs to make this request. */
  scope: Scope;
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | readonly string[]>>;
  headers?: Readonly<Record<string, string>>;
  body?: object;
  answer: object;
  /** Answers in media types besides application/json. */
  alternatives?: Readonly<Record<string, object>>;
}>;

/** When everything in the examples happened. */
export const WHEN = "2026-03-02T09:30:00.000000+00:00";
