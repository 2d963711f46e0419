// A queue of claims to look at and decide: how they come about, and what the database tells of them.
import { randomUUID } from "node:crypto";
import { expect } from "@jest/globals";
import * as m from "./membership.ts";
import type { TestService } from "./service.ts";
import { Visitor } from "./visitor.ts";

export const QUEUE = "/admin/claims";
/** Nobody's. */
export const NO_CLAIM = "00000000-0000-4000-8000-00000000dead";
/** Whatever the database tells. */
type Json = any; // oxlint-disable-line typescript/no-explicit-any -- tests look into it freely

export class ClaimQueue {
  readonly door: m.MembershipDoor;
  readonly #service: TestService;

  constructor(service: TestService) {
    this.#service = service;
    this.door = m.membershipDoor("REST", () => service);
  }

  /** Adds those who review for the platform, and lets everybody claim as much as they like. */
  async prepare(): Promise<void> {
    await m.addPlatformPeople(this.#db);
    await this.#db.query("update app_private.settings set value = '1000' where name like 'claims_per%'");
  }

  signIn(email: string): Promise<Visitor> {
    return new Visitor(this.#service).signIn(email);
  }

  /** A claim to an organization by somebody new, on an application's word. */
  async claim(org: m.TestOrganization, fields: Record<string, unknown> = {}): Promise<string> {
    const claimed = { ...m.claimOf(org, `${randomUUID()}@elsewhere.example`), ...fields };
    const { value, refusal } = await this.door.claim(claimed);
    expect(refusal).toBeUndefined();
    return value.claimId as string;
  }

  /** A new organization, which somebody proposes. */
  propose(name: string, fields: Record<string, unknown> = {}): Promise<string> {
    return this.claim(
      { uri: "", name, domain: "" },
      { firstName: "Ben", lastName: "Ode", isNewOrg: true, orgUri: undefined, ...fields },
    );
  }

  async statusOf(claimId: string): Promise<string> {
    const { rows } = await this.#db.query<{ status: string }>(
      "select status from app_public.organization_claims where claim_id = $1",
      [claimId],
    );
    return rows[0]!.status;
  }

  /** What a function of the queue answers a person in the database itself. */
  async told(email: string, call: string, role = "api_person"): Promise<Json> {
    const client = await this.#db.connect();
    try {
      await client.query("begin");
      await client.query("select set_config('app.person', $1, true)", [personOf(email)]);
      await client.query(`set local role ${role}`);
      const { rows } = await client.query<{ answer: Json }>(`select app_private.${call} as answer`);
      return rows[0]!.answer;
    } finally {
      await client.query("rollback");
      client.release();
    }
  }

  get #db() {
    return this.#service.database.owner;
  }
}

/** What the server says of who is signed in. */
export function personOf(email: string): string {
  return JSON.stringify({ id: "x", issuer: "i", subject: "s", email });
}

/** The claims that a page lists. */
export function idsIn(text: string): string[] {
  return [...text.matchAll(/<li data-claim="([^"]+)"/g)].map(([, id]) => id!);
}

/** The address of the queue with a query. */
export function queueWith(query: Record<string, string>, claim?: string): string {
  const path = claim === undefined ? QUEUE : `${QUEUE}/${claim}`;
  return `${path}?${new URLSearchParams(query).toString()}`;
}
