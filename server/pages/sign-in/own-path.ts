// Where somebody is led after signing in: a page of this service, whatever the address of the sign-in asks for.
const HERE = "http://here.invalid";
/** As long as any page's own address: that of an organization has all of its URI in it, that of /sparql a query. */
export const LONGEST_ADDRESS = 20_000;

/** The path, query and fragment if they are of this service, else `/`. */
export function ownPath(wanted: unknown): string {
  if (typeof wanted !== "string" || wanted.length > LONGEST_ADDRESS || !wanted.startsWith("/")) return "/";
  if (!URL.canParse(wanted, HERE)) return "/";
  const url = new URL(wanted, HERE);
  const path = `${url.pathname}${url.search}${url.hash}`;
  // What browsers make of //, /\ and /.// leads elsewhere.
  return url.origin === HERE && !path.startsWith("//") ? path : "/";
}
