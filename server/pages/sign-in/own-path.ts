// Where visitors go after signing in: always a page of this service, whatever the sign-in's address names.
import { LONGEST_ADDRESS } from "../address.ts";

const HERE = "http://here.invalid";

/** The path, query and fragment if they stay within this service, else `/`. */
export function ownPath(wanted: unknown): string {
  if (typeof wanted !== "string" || wanted.length > LONGEST_ADDRESS || !wanted.startsWith("/")) return "/";
  if (!URL.canParse(wanted, HERE)) return "/";
  const url = new URL(wanted, HERE);
  const path = `${url.pathname}${url.search}${url.hash}`;
  // Browsers take //, /\ and /.// for addresses of other sites.
  return url.origin === HERE && !path.startsWith("//") ? path : "/";
}
