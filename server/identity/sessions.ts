// Sessions and how they begin, on the server's side: it makes the secrets and passes their hashes to the
// database, which decides (db/rules/sessions.sql). Nothing is cached here, so a session that was ended is
// over with the next request.
import { hash, randomBytes } from "node:crypto";
import type { Config } from "../../config.ts";
import type { Connections } from "../postgres/connections.ts";
import { currentRequest } from "../request-context.ts";
import { Lookup } from "./lookup.ts";
import type { Person } from "./identity.ts";

/** What is known about a browser that signs in. */
export type Browser = Readonly<{
  /** the value of its cookie for signing in */
  secret: string;
  /** the secret of its current session, which ends when the new one begins */
  session: string | undefined;
  /** its network, as limits count it */
  network: string;
}>;

/** Claims that an application has made in a person's name. */
type Stated = Readonly<{
  email: string;
  claims: readonly Readonly<{ claimId: string; orgName: string; createdAt: string }>[];
}>;

/** A new secret: 256 bits in base64url. */
export function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** Begins, finds and ends sessions. */
export class Sessions {
  readonly #connections: Connections;
  readonly #issuers: string;
  readonly #again: Lookup<Buffer, Person>;

  /** @param oidc whose word is taken for a session, as for a token */
  constructor(connections: Connections, oidc?: Pick<NonNullable<Config["oidc"]>, "issuers" | "domains">) {
    this.#connections = connections;
    const trusted = oidc?.issuers.map((issuer) => [issuer, oidc.domains?.[issuer] ?? null] as const);
    this.#issuers = JSON.stringify(Object.fromEntries(trusted ?? []));
    this.#again = new Lookup((hashes) => this.#findAll(hashes), 1);
  }

  /**
   * The person whose session it is; undefined when it is over.
   * @param network whose share of the connections it uses, since the caller is not known yet
   */
  async find(secret: string, network: string): Promise<Person | undefined> {
    const found = "app_private.find_session($1)";
    const person = await this.#call<Person | null>(network, found, [hashOf(secret)]);
    return person ?? undefined;
  }

  /** The same for a connection that lasts for hours, in one statement with other such lookups. */
  findAgain(secret: string): Promise<Person | undefined> {
    const hash = hashOf(secret);
    return this.#again.find(hash.toString("base64"), hash);
  }

  /**
   * Has a link for signing in mailed.
   * @param link leads to the page that finishes it, with the secret in it
   * @throws what PostgreSQL raised: 400 validation_failed, 429 rate_limited
   */
  async sendLink(
    email: string,
    { secret, link, returnTo, browser }: { secret: string; link: string; returnTo: string; browser: Browser },
  ): Promise<void> {
    await this.#call(browser.network, "app_private.send_link($1, $2, $3, $4, $5, $6)", [
      ...[email, hashOf(secret), hashOf(browser.secret), returnTo, link, browser.network],
    ]);
  }

  /**
   * Begins a session for a visitor who has the secret of a link.
   * @returns the secret of the session, and the page to return to; undefined if the link is not valid
   */
  async followLink(
    secret: string,
    browser: Browser,
  ): Promise<{ session: string; returnTo: string } | undefined> {
    const session = newSecret();
    const returnTo = await this.#call<string | null>(
      browser.network,
      "app_private.follow_link($1, $2, $3, $4)",
      [...[hashOf(secret), hashOf(browser.secret), hashOf(session), hashOf(browser.session ?? "")]],
    );
    return returnTo === null ? undefined : { session, returnTo };
  }

  /** Records that a browser is sent to the provider. */
  async askProvider(state: string, { secret, network }: Browser, returnTo: string): Promise<void> {
    await this.#call(network, "app_private.ask_provider($1, $2, $3, $4)", [
      hashOf(state),
      hashOf(secret),
      returnTo,
      network,
    ]);
  }

  /**
   * The page to return to when a browser comes back from the provider; undefined if it was not sent there.
   */
  async backFromProvider(state: string, { secret, network }: Browser): Promise<string | undefined> {
    const taken = "(app_private.take_sign_in($1, $2, false)).return_to";
    return (await this.#call<string | null>(network, taken, [hashOf(state), hashOf(secret)])) ?? undefined;
  }

  /** Begins a session for a person for whom the provider vouches; returns its secret. */
  async begin({ email, issuer, subject }: Omit<Person, "id">, browser: Browser): Promise<string> {
    const session = newSecret();
    await this.#call(browser.network, "app_private.begin_session($1, $2, $3, $4, $5)", [
      ...[hashOf(session), hashOf(browser.session ?? ""), email, issuer, subject],
    ]);
    return session;
  }

  /**
   * Claims that wait for a person's confirmation, because only an application has made them in their name;
   * undefined if the secret is not valid.
   * @param secret that of their session, or of a link that was mailed to them
   */
  async claimsToConfirm(secret: string, network: string): Promise<Stated | undefined> {
    const stated = await this.#call<Stated | null>(network, "app_private.claims_to_confirm($1)", [
      hashOf(secret),
    ]);
    return stated ?? undefined;
  }

  /** Confirms some of these claims, and returns the status of each; undefined if the secret is not valid. */
  async confirmClaims(
    secret: string,
    network: string,
    claimIds: readonly string[],
  ): Promise<readonly { orgName: string; status: string }[] | undefined> {
    const confirm = "app_private.confirm_claims($1, $2)";
    return (
      (await this.#call<{ orgName: string; status: string }[] | null>(network, confirm, [
        hashOf(secret),
        claimIds,
      ])) ?? undefined
    );
  }

  /**
   * @param everywhere whether to end all sessions of the same person too
   * @returns false if all should be ended, but this session is over already
   */
  end(secret: string, network: string, everywhere: boolean): Promise<boolean> {
    return this.#call(network, "app_private.end_session($1, $2)", [hashOf(secret), everywhere]);
  }

  async #findAll(hashes: readonly Buffer[]): Promise<Map<number, Person>> {
    const { rows } = await this.#connections.borrow({ caller: "" }, (connection) =>
      connection.run<{ number: number; person: Person | null }>({
        name: "sessions again",
        text: `select asked.number::integer, app_private.find_session(asked.hash) as person
          from unnest($1::bytea[]) with ordinality as asked (hash, number)
          where set_config('app.issuers', $2, true) is not null`,
        values: [hashes, this.#issuers],
      }),
    );
    return new Map(rows.flatMap(({ number, person }) => (person ? [[number - 1, person]] : [])));
  }

  /** @param expression a call of one of the functions of sessions.sql */
  async #call<T>(network: string, expression: string, values: readonly unknown[]): Promise<T> {
    const { rows } = await this.#connections.borrow({ caller: `sign-in ${network}` }, (connection) =>
      connection.run<{ answer: T }>({
        name: `session: ${expression}`,
        // The id of the request is set before anything is done that a history records.
        text: `select case when set_config('app.issuers', $${values.length + 1}, true) is not null
            and set_config('app.request_id', $${values.length + 2}, true) is not null
          then ${expression} end as answer`,
        values: [...values, this.#issuers, currentRequest()?.id ?? ""],
      }),
    );
    return rows[0]!.answer;
  }
}

function hashOf(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}
