// Where somebody is led after signing in: a page of this service, whatever the address of the sign-in asks for.
import { LONGEST_ADDRESS } from "../address.ts";

const HERE = "http://here.invalid";

/** The path, query and fragment if they are of this service, else `/`. */
export function ownPath(wanted: unknown): string {
  if (typeof wanted !== "string" || wanted.length > LONGEST_ADDRESS || !wanted.startsWith("/")) return "/";
  if (!URL.canParse(wanted, HERE)) return "/";
  const url = new URL(wanted, HERE);
  const path = `${url.pathname}${url.search}${url.hash}`;
  // What browsers make of //, /\ and /.// leads elsewhere.
  return url.origin === HERE && !path.startsWith("//") ? path : "/";
}
