// Who is calling: with a key, a person's token or their session. The database decides what the caller may do
// (db/rules/identity.sql), and limits count by `id` what the caller uses.
import type { Key, Scope } from "./lookup.ts";

/** A person, for whom an OpenID provider or their session vouches. */
export type Person = Readonly<{
  /** Identifies the person in logs and limits, where their e-mail address must not be. */
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
  // Exactly one of them: a key may name any actor, a person only themselves.
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
