// Who is calling, whatever says so. A key, a token of a person and their session are ways to say it; what the caller may do is for the
// database to decide (db/rules/identity.sql), and what it may use up is counted by `id`.
import type { Key, Scope } from "./lookup.ts";

/** A person, as an OpenID provider vouches for them, or their session does. */
export type Person = Readonly<{
  /** Names the person in logs and limits, where their address has no business. */
  id: string;
  issuer: string;
  subject: string;
  /** an address that was proven to be theirs */
  email: string;
}>;

/** Who is calling. */
export type Caller = Readonly<{
  /** The id of the key, or of the person: what limits and shares are counted by. */
  id: string;
  /** The PostgreSQL role that the caller acts in. */
  role: Scope | "api_person";
  ratePerMinute: number | null;
}> &
  // Exactly one of them: a key may name anybody who acts, and a person only themselves.
  (Readonly<{ keyId: string; person?: undefined }> | Readonly<{ keyId?: undefined; person: Person }>);

/** The caller of a request. */
export type Identity = Caller &
  Readonly<{
    /** Aborted when the caller hangs up. */
    gone?: AbortSignal;
  }>;

declare global {
  namespace Express {
    interface Request {
      identity: Identity;
    }
  }
}

/** The caller who has a key. */
export function callerWith({
  keyId,
  scope,
  ratePerMinute,
}: Pick<Key, "keyId" | "scope" | "ratePerMinute">): Caller {
  return { id: keyId, role: scope, ratePerMinute, keyId };
}

/** The caller who is a person. */
export function callerAs(person: Person): Caller {
  return { id: person.id, role: "api_person", ratePerMinute: null, person };
}

/** How a log names a caller. */
export function named({ keyId, person }: Caller): { keyId: string } | { personId: string } {
  return keyId === undefined ? { personId: person.id } : { keyId };
}
