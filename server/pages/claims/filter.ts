// The filter of the queue, as in its address:
// ?q=river&status=rejected&sent=platform&proof=stated&order=newest.
import { enums } from "../../../db/catalog.ts";
import type { Visit } from "../page.ts";
import { wordsOf } from "../parts/search-form.ts";

export const QUEUE = "/admin/claims";

/** In characters, of a search for people's names and addresses, and organizations' names and domains. */
export const LONGEST_SEARCH = 100;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const CHOICES = {
  status: {
    pending: "waiting",
    approved: "approved",
    rejected: "rejected",
    withdrawn: "withdrawn",
    all: "all",
  },
  sent: { "": "anybody", organization: "an organization's administrators", platform: "the platform" },
  proof: { "": "proven or stated", proven: "proven", stated: "stated by an application" },
  order: { "": "oldest first", newest: "newest first" },
} as const satisfies {
  status: Record<(typeof enums.claim_review_status)[number] | "all", string>;
  [name: string]: Record<string, string>;
};

type Chosen = { [Name in keyof typeof CHOICES]: keyof (typeof CHOICES)[Name] };

/** Which claims are listed, in which order. */
export type Filter = Readonly<Chosen & { q: string; org: string }>;

/** Reads the filter from the query; values that are not understood are ignored. */
export function filterOf({ query }: Pick<Visit, "query">): Filter {
  const chosen = <Name extends keyof Chosen>(name: Name, usual: Chosen[Name]): Chosen[Name] => {
    const said = query(name);
    return said !== undefined && Object.hasOwn(CHOICES[name], said) ? (said as Chosen[Name]) : usual;
  };
  return {
    status: chosen("status", "pending"),
    sent: chosen("sent", ""),
    proof: chosen("proof", ""),
    order: chosen("order", ""),
    q: wordsOf({ query }, LONGEST_SEARCH) ?? "",
    org: textOf(query("org")),
  };
}

/** The arguments of app_private.claim_queue. */
export function inputOf(filter: Filter, at: string | undefined): Record<string, unknown> {
  return {
    q: filter.q,
    status: filter.status === "all" ? undefined : filter.status,
    sentTo: filter.sent || undefined,
    proven: filter.proof === "" ? undefined : filter.proof === "proven",
    orgUri: filter.org || undefined,
    newest: filter.order === "newest",
    at,
  };
}

/** The address of the queue, or of a claim beside it; defaults are left out. */
export function addressOf(filter: Filter, { claim, more = {} }: Place = {}): string {
  const { status, ...others } = filter;
  const said = Object.entries({ ...others, status: status === "pending" ? "" : status, ...more });
  const query = new URLSearchParams(said.filter(([, value]) => value !== ""));
  const path = claim === undefined ? QUEUE : `${QUEUE}/${claim}`;
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

type Place = { claim?: string | undefined; more?: Readonly<Record<string, string>> };

export function isId(text: string | undefined): text is string {
  return text !== undefined && UUID.test(text);
}

/** Without NUL, which no text in the database can have. */
function textOf(said = ""): string {
  return said.replaceAll("\0", "").trim();
}
