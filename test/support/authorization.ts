// Who says who acts, and the doors through which they do: what the tables of authorization are tried with.
import { expect, test } from "@jest/globals";
import { Client, DatabaseError } from "pg";
import { errors } from "../../db/catalog.ts";
import { REQUEST_HEADERS } from "../../server/headers.ts";
import { issueTestKey, keyIdOf } from "./database.ts";
import type { KeyBounds } from "./database.ts";
import { AUDIENCE, TestProvider } from "./oidc.ts";
import { call, startTestService } from "./service.ts";
import type { Answer, TestService } from "./service.ts";
import { Visitor } from "./visitor.ts";
import * as world from "./world.ts";

const SCOPES = ["read", "write", "review"] as const;
type Scope = (typeof SCOPES)[number];

// What bounds refuse whoever is named; within them nothing.
const BOUNDS = {
  "for the organization and the person": undefined,
  "for another organization": "key_not_for_organization",
  "for another person": "key_not_for_person",
} as const;
type Bounded = keyof typeof BOUNDS;
const BOUNDED = Object.keys(BOUNDS) as Bounded[];

/** An API key of a scope, which names who acts, one with bounds, or a person's own token or session. */
export type Caller = Scope | Bounded | "token" | "session";
export type Outcome = "allowed" | "insufficient_scope" | keyof typeof errors;

export interface Operation {
  name: string;
  path: string;
  /** The field of GraphQL that does it, and what is asked of its answer. */
  field: string;
  result: string;
  sql: string;
  /** What is sent, by wire names; who acts can be left out by persons. */
  input: (email: string | null) => Record<string, unknown>;
  /** The least scope of a key that may ask for it: write, if it does not say. */
  scope?: "write" | "review";
  /** Only looks, and leaves no trace. */
  reads?: true;
  /** Makes of the database, as its owner, what the operation can be tried on once more. */
  prepare?: (person: string) => string;
}

/** What a table says in one cell: for everybody who may say who acts, but for the keys with bounds that are named. */
export type Cell = Outcome | ({ otherwise: Outcome } & Partial<Record<Bounded, Outcome>>);

/** Somebody who acts, and what becomes of each operation then. */
export interface Standing {
  who: string;
  email: string;
  cells: Readonly<Record<Operation["name"], Cell>>;
}

/** A service with its callers, and the doors that they come through. */
export class Doors {
  readonly service: TestService;
  readonly psql: Client;
  readonly #provider: TestProvider;
  readonly #keys = new Map<string, string>();
  readonly #tokenOf: (email: string) => Promise<string>;
  readonly #sessionOf: (email: string) => Promise<Visitor>;

  private constructor(service: TestService, provider: TestProvider, psql: Client) {
    this.service = service;
    this.#provider = provider;
    this.psql = psql;
    this.#tokenOf = perPerson((email) => provider.tokenOf(email));
    this.#sessionOf = perPerson((email) => new Visitor(service).signIn(email));
  }

  /** @param persons whom the key for certain persons is for */
  static async open(persons: string[]): Promise<Doors> {
    const provider = await TestProvider.start();
    const service = await startTestService({
      config: { oidc: { issuers: [provider.issuer], audience: AUDIENCE } },
    });
    await provider.isKnownTo(service.url);
    const psql = new Client(service.database.serverUrl);
    await psql.connect();
    const doors = new Doors(service, provider, psql);
    const bounds: Record<Bounded, KeyBounds> = {
      "for the organization and the person": { organizations: [world.ORG], persons },
      "for another organization": { organizations: [world.OTHER_ORG] },
      "for another person": { persons: ["someone-else@river.example"] },
    };
    for (const scope of ["write", "review"] as const) {
      for (const name of BOUNDED) {
        const key = await issueTestKey(service.database.owner, `api_${scope}`, bounds[name]);
        doors.#keys.set(`${scope} ${name}`, key);
      }
    }
    return doors;
  }

  async close(): Promise<void> {
    await this.psql.end();
    await this.service.stop();
    await this.#provider.stop();
  }

  /** Whoever comes for the first time signs in, which leaves traces of its own. */
  async welcome(caller: Caller, person: string): Promise<void> {
    if (caller === "session") await this.#sessionOf(person);
  }

  /** Each door returns the outcome: "allowed", or status and code of the refusal. */
  readonly through: Record<
    string,
    (operation: Operation, caller: Caller, named: string | null, person: string) => Promise<string>
  > = {
    REST: async (operation, caller, named, person) => {
      const given = Object.entries(operation.input(named)).filter(([, value]) => value !== null);
      const { adminEmail, ...query } = Object.fromEntries(given) as Record<string, string>;
      // What is only looked at has no body to name a reviewer in.
      const answer = operation.reads
        ? await this.#send(operation, caller, person, {
            path: `${operation.path}?${new URLSearchParams(query).toString()}`,
            headers: adminEmail === undefined ? {} : { [REQUEST_HEADERS.adminEmail]: adminEmail },
          })
        : await this.#send(operation, caller, person, {
            path: operation.path,
            body: Object.fromEntries(given),
          });
      if (answer.status >= 400) expect(answer.body.statusCode).toBe(answer.status);
      return answer.status < 300 ? "allowed" : `${answer.status} ${answer.body.error}`;
    },
    GraphQL: async (operation, caller, named, person) => {
      const { field, result } = operation;
      const input = operation.input(named);
      const inputType = `${field[0]!.toUpperCase()}${field.slice(1)}Input`;
      const given = Object.entries(input).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
      const body = operation.reads
        ? { query: `{ ${field}(${given.join(", ")}) { ${result} } }` }
        : {
            query: `mutation ($input: ${inputType}!) { ${field}(input: $input) { ${result} } }`,
            variables: { input },
          };
      const answer = await this.#send(operation, caller, person, { path: "/graphql", body });
      const [error] = answer.body.errors ?? [];
      return error ? [error.extensions.statusCode, error.extensions.code].join(" ") : "allowed";
    },
    SQL: async (operation, caller, named, person) => {
      const identity = await this.#personOf(caller, person);
      const key = this.#keyOf(operation, caller);
      const keyId = key && (await keyIdOf(this.service.database.owner, key));
      const scope = keyId ? (operation.scope ?? "write") : caller;
      await this.psql.query("begin");
      await this.psql.query(`set local role api_${identity ? "person" : scope}`);
      await this.psql.query("select set_config('app.person', $1, true), set_config('app.key_id', $2, true)", [
        identity,
        keyId ?? "",
      ]);
      try {
        await this.psql.query(operation.sql, Object.values(operation.input(named)));
        await this.psql.query("commit");
        return "allowed";
      } catch (error) {
        await this.psql.query("rollback");
        if (!(error instanceof DatabaseError)) throw error;
        return error.code === "42501" ? "403 insufficient_scope" : `${error.code?.slice(2)} ${error.detail}`;
      }
    },
  };

  /** The key with bounds, if it is one. */
  #keyOf({ scope = "write" }: Operation, caller: Caller): string | undefined {
    return this.#keys.get(`${scope} ${caller}`);
  }

  async #send(
    operation: Operation,
    caller: Caller,
    person: string,
    { path, headers = {}, body }: { path: string; headers?: Record<string, string>; body?: object },
  ): Promise<Pick<Answer, "status" | "body">> {
    if (caller === "session") return (await this.#sessionOf(person)).call(path, body, headers);
    const credential =
      caller === "token"
        ? await this.#tokenOf(person)
        : (this.#keyOf(operation, caller) ?? this.service.keys[caller as Scope]);
    return call(`${this.service.url}${path}`, body ? "POST" : "GET", credential, body, headers);
  }

  /** What the server says to the database of a person who calls. */
  async #personOf(caller: Caller, email: string): Promise<string> {
    if (caller === "token") return JSON.stringify({ email });
    if (caller !== "session") return "";
    await this.#sessionOf(email);
    const { rows } = await this.service.database.owner.query<{ person: string }>(
      "select app_private.session_person(s)::text as person from app_private.sessions as s where email = $1",
      [email],
    );
    return rows[0]!.person;
  }
}

/** Makes something once for each person. */
function perPerson<T>(make: (email: string) => Promise<T>): (email: string) => Promise<T> {
  const made = new Map<string, Promise<T>>();
  return (email) => {
    const one = made.get(email) ?? make(email);
    made.set(email, one);
    return one;
  };
}

/** Everything that somebody who acts leaves behind, as the rules and a reader see it. */
const TRACES = `
  select
    (select count(*) from app_public.needs) as needs,
    (select count(*) from app_public.commitments) as commitments,
    (select count(*) from app_public.engagement_claims) as engagement_claims,
    (select count(*) from app_public.status_history) as history,
    (select sum(revision) from app_private.graph_records) as revisions,
    (select count(*) from app_private.graph_wakeups) as wakeups,
    (select count(*) from graphile_worker.jobs) as jobs,
    (select md5(string_agg(t::text, '' order by t.org_uri)) from app_public.organizations as t) as organizations,
    (select md5(string_agg(t::text, '' order by t.user_id)) from app_public.users as t) as users,
    (select md5(string_agg(t::text, '' order by t.org_uri, t.user_id)) from app_public.memberships as t) as memberships,
    (select md5(string_agg(t::text, '' order by t::text)) from app_public.platform_roles as t) as platform_roles,
    (select md5(string_agg(t::text, '' order by t.claim_id)) from app_public.organization_claims as t) as claims,
    (select count(*) from app_private.mails) as mails,
    (select count(*) from app_public.organization_claim_history) as claim_history,
    (select count(*) from app_private.role_history) as role_history,
    (select count(*) from app_private.administration_history) as administration`;

/** Tries each cell of a table: every operation by everybody, whoever says who acts, through each door. */
export function tryEveryCell(doors: () => Doors, operations: Operation[], standings: Standing[]): void {
  type Case = [says: string, caller: Caller, named: string | null, person: string, outcome: Outcome];
  const casesOf = (operation: Operation): Case[] =>
    standings.flatMap(({ who, email, cells }) => {
      const cell = cells[operation.name]!;
      const { otherwise: expected, ...bounded } = typeof cell === "string" ? { otherwise: cell } : cell;
      const someoneElse = email === world.admin ? world.contributor : world.admin;
      return [
        ...SCOPES.map((scope): Case => {
          const suffices = SCOPES.indexOf(scope) >= SCOPES.indexOf(operation.scope ?? "write");
          const outcome = suffices ? expected : "insufficient_scope";
          return [`${who} named by a key of scope api_${scope}`, scope, email, email, outcome];
        }),
        ...BOUNDED.map((key): Case => {
          const outcome = (bounded as Partial<typeof bounded>)[key] ?? BOUNDS[key] ?? expected;
          return [`${who} named by a key ${key}`, key, email, email, outcome];
        }),
        ...(["token", "session"] as const).flatMap((own): Case[] => [
          [`${who} by their own ${own}`, own, email, email, expected],
          [`${who} by their own ${own} alone`, own, null, email, expected],
          [`${who} by their own ${own}, as somebody else`, own, someoneElse, email, "not_your_identity"],
        ]),
      ];
    });

  const traces = async () =>
    (await doors().service.database.owner.query<Record<string, unknown>>(TRACES)).rows[0];

  for (const door of ["REST", "GraphQL", "SQL"]) {
    for (const operation of operations) {
      test.each(casesOf(operation))(
        `through ${door}, to ${operation.name}: %s`,
        async (_says, caller, named, person, outcome) => {
          await doors().welcome(caller, person);
          if (operation.prepare) await doors().service.database.owner.query(operation.prepare(person));
          const before = await traces();
          const answered = await doors().through[door]!(operation, caller, named, person);
          if (outcome === "allowed") {
            expect(answered).toBe("allowed");
            if (!operation.reads) expect(await traces()).not.toEqual(before);
          } else {
            const status = outcome === "insufficient_scope" ? 403 : errors[outcome][0];
            expect(answered).toBe(`${status} ${outcome}`);
          }
          if (outcome !== "allowed" || operation.reads) expect(await traces()).toEqual(before);
        },
      );
    }
  }
}
