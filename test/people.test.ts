// What is kept on a person, and that nothing is after an erasure: found by looking through every table there is.
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { pino } from "pino";
import { sendMails } from "../worker/outbox.ts";
import { eventually } from "./support/eventually.ts";
import * as m from "./support/membership.ts";
import { onConnections, waiting } from "./support/overlap.ts";
import { admin, launch } from "./support/process.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { tool } from "./support/tool.ts";

// Each call of the tool is a process, which takes a while on a machine that is busy.
jest.setTimeout(600_000);

let service: TestService;
let door: m.MembershipDoor;
let organization: m.TestOrganization;
let person: string;
let boss: string;

beforeAll(async () => {
  service = await startTestService();
  await m.addPlatformPeople(db());
  door = m.membershipDoor("REST", () => service);
});
afterAll(() => service.stop());
beforeEach(async () => {
  organization = await m.addOrganization(db(), { boss: "org_admin" });
  person = `pat.o'perez@${organization.domain}`;
  boss = `boss@${organization.domain}`;
});

const db = () => service.database.owner;
const settings = () => ({ DATABASE_URL: service.database.url });

/** Runs a command with --json; its exit code and value. */
async function json(...args: string[]): Promise<any> /* oxlint-disable-line typescript/no-explicit-any */ {
  const { code, stdout } = await admin([...args, "--json"], settings());
  return { code, ...JSON.parse(stdout) };
}
/** The same within this process, which takes no time to begin. */
async function inProcess(
  ...args: string[]
): Promise<any> /* oxlint-disable-line typescript/no-explicit-any */ {
  const { code, stdout } = await tool([...args, "--json"], settings());
  return { code, ...JSON.parse(stdout) };
}
const erase = (email: string, ...more: string[]) => json("people", "erase", "--email", email, ...more);

/** Has a person able to do nothing more, and nothing of theirs left to decide: what comes before their address is replaced. */
async function beginErasure(email: string): Promise<void> {
  await db().query("select app_private.begin_erasure($1, false)", [email]);
  await db().query("select app_private.close_claims($1)", [email]);
}

/** Erases without the command, when nobody else is there to wait for; returns the pseudonym. */
async function eraseAtOnce(email: string): Promise<string> {
  await beginErasure(email);
  const { rows } = await db().query<{ name: string }>(
    "select app_private.finish_erasure($1) ->> 'pseudonym' as name",
    [email],
  );
  return rows[0]!.name;
}

/** The tables that have a text in any of their rows, in every schema that is not PostgreSQL's own. */
async function tablesWith(text: string): Promise<string[]> {
  const { rows } = await db().query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class as c
     where c.relkind in ('r', 'p') and c.relnamespace::regnamespace::text !~ '^(pg_|information_schema)' order by 1`,
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const { rows: hits } = await db().query(
      `select from ${name} as t where strpos(lower(to_jsonb(t)::text), lower($1)) > 0 limit 1`,
      [text],
    );
    if (hits.length > 0) found.push(name);
  }
  return found;
}

const declaration = (email: string) => ({
  orgUri: organization.uri,
  orgName: organization.name,
  declaredByEmail: email,
  needDescription: `Wells.\n${email.toUpperCase()} knows more.`,
  accelerators: ["PRA"],
});

const subject = () => `subject of ${organization.domain}`;

/** Does something as the person who has come with a token. */
async function byToken(statement: string, ...values: string[]): Promise<void> {
  const client = await db().connect();
  try {
    await client.query("begin");
    await client.query("select set_config('app.person', $1, true)", [
      JSON.stringify({ id: "pat", issuer: "https://id.example", subject: subject(), email: person }),
    ]);
    await client.query(statement, values);
    await client.query("commit");
  } finally {
    client.release();
  }
}

/** Leaves the person's address wherever the service writes one. */
async function beEverywhere(): Promise<{ needId: string }> {
  const { url, keys } = service;
  const ok = async (path: string, body: object) => {
    const answer = await call(`${url}${path}`, "POST", keys.review, body);
    expect([path, answer.status < 300, answer.body]).toEqual([path, true, answer.body]);
    return answer.body;
  };
  // A claim, with names, which is approved; what the person says and is said of them.
  const { claimId } = await ok("/v0/onboarding/claim-org", {
    ...m.claimOf(organization, person),
    ...{ firstName: "Pat", lastName: "O'Perez", roles: ["Pat O'Perez, director"] },
  });
  await ok("/v0/admin/claims/review", {
    ...{ claimId, action: "approve", adminEmail: boss, role: "org_admin" },
    notes: `I have met Pat O'Perez, ${person}.`,
  });
  await ok("/v0/admin/users/role", { userEmail: person, role: "support", adminEmail: m.platformAdmin });
  const { needId } = await ok("/v0/needs", declaration(person));
  await ok("/v0/needs/status", { needId, status: "met", actorEmail: person });
  await byToken("update app_public.needs set status = 'open' where need_id = $1", needId);
  const { commitmentId } = await ok("/v0/commitments", {
    ...{ orgUri: organization.uri, orgName: organization.name, declaredByEmail: person },
    ...{ commitmentDescription: "Pumps", acceleratorScope: ["PRA"], concernsNeedId: needId },
  });
  await ok("/v0/engagement-claims/submit", {
    ...{ orgUri: organization.uri, orgName: organization.name, claimedByEmail: person },
    ...{ engagementAccelerators: ["PRA"], countryCode: "NE", fulfillsCommitmentId: commitmentId },
  });
  await ok("/v0/orgs/metadata", { orgUri: organization.uri, type: "Mission", adminEmail: person });
  // Another's claim, of which the person is told and on which they decide.
  const other = await ok("/v0/onboarding/claim-org", m.claimOf(organization, `new@${organization.domain}`));
  await ok("/v0/admin/claims/review", { claimId: other.claimId, action: "approve", adminEmail: person });
  await sendMails({
    ...{ pool: db(), mailer: undefined, platformUrl: "https://platform.example" },
    logger: pino({ level: "silent" }),
  });
  // One mail that waits, and one claim.
  const elsewhere = await m.addOrganization(db());
  await ok("/v0/onboarding/claim-org", m.claimOf(elsewhere, person));
  await ok("/v0/onboarding/claim-org", m.claimOf(organization, `later@${organization.domain}`));
  await db().query(
    "insert into app_private.api_keys (label, key_hash, scope) values ($1, sha256($2), 'api_read')",
    [`Laptop of ${person}`, person],
  );
  // What an answer holds is up to the routes: none of those that are kept names anybody today.
  await db().query(
    `insert into app_private.idempotent_answers (key_id, idempotency_key, fingerprint, answer)
     select key_id, $1, '', json_build_object('email', $1::text, 'name', 'Pat O''Perez')::text
     from app_private.api_keys limit 1`,
    [person],
  );
  await db().query(
    `select graphile_worker.add_job('forgotten', json_build_object('to', $1::text, 'list', array['a', $1::text]));`,
    [person],
  );
  await db().query(
    `update graphile_worker._private_jobs set last_error = 'no mailbox ' || $1, attempts = max_attempts
     where payload::text like '%' || $1 || '%'`,
    [person],
  );
  return { needId };
}

test("what was used at every door is nowhere afterwards, and one pseudonym stands for it", async () => {
  const neighbour = `xpat.o'perez@${organization.domain}`;
  const longer = `${person}.org`;
  const { needId } = await beEverywhere();
  await db().query("insert into app_public.users (email) values ($1), ($2)", [neighbour, longer]);
  await db().query(
    "create table app_private.later (words varchar, many text[], document json, words_b jsonb)",
  );
  await db().query(
    "insert into app_private.later values ($1::text, array['to', $1::text], to_json($2::text), jsonb_build_object($1::text, 1))",
    [person, `first\n${person}`],
  );
  const before = await tablesWith(person);
  expect(before).toEqual(
    expect.arrayContaining([
      ...["app_private.administration_history", "app_private.api_keys", "app_private.idempotent_answers"],
      ...["app_private.later", "app_private.mails", "app_private.role_history", "app_public.commitments"],
      ...["app_public.engagement_claims", "app_public.needs", "app_public.organization_claim_history"],
      ...["app_public.organization_claims", "app_public.status_history", "app_public.users"],
      "graphile_worker._private_jobs",
    ]),
  );

  expect(await tablesWith(subject())).toEqual(["app_public.status_history"]);

  const exported = await json("people", "export", "--email", person.toUpperCase());
  expect(exported.kept).toMatchObject({
    "app_public.users": [{ first_name: "Pat" }],
    "app_public.memberships": [{ role: "org_admin" }],
    "app_public.platform_roles": [{ role: "support" }],
    "app_public.needs": [{ need_id: needId }],
  });
  const ownSteps = exported.kept["app_public.organization_claim_history"].map(
    (step: { to_status: string }) => step.to_status,
  );
  expect(ownSteps).toContain("approved");
  // Of their claim also the steps that others took, which do not mention them.
  expect(exported.kept["app_public.organization_claim_history"]).toContainEqual(
    expect.objectContaining({ changed_by_email: boss, to_status: "approved" }),
  );
  // Rows that mention nobody are in the trail of their claim; what has a column of its own is there with all others.
  expect(Object.keys(exported.kept)).toEqual(expect.arrayContaining(before));
  expect(JSON.stringify(exported.kept)).not.toContain("key_hash");

  const erased = await erase(person.toUpperCase());
  expect(erased).toMatchObject({ code: 0, bereft: [], churches: 0 });
  const { pseudonym } = erased;
  expect(pseudonym).toMatch(/^erased-[0-9a-f-]{36}@erased\.invalid$/);
  expect(
    await tablesWith(person).then((tables) => tables.filter((name) => name !== "app_public.users")),
  ).toEqual([]);
  const { rows: left } = await db().query(
    'select email from app_public.users where strpos(email, $1) > 0 order by email collate "C"',
    [person],
  );
  expect(left.map(({ email }) => email)).toEqual([longer, neighbour]);
  expect(await tablesWith(subject())).toEqual([]);
  expect(await tablesWith("O'Perez,")).toEqual([]);
  expect(await tablesWith("Pat O'Perez")).toEqual([]);
  // Whatever had the address has the pseudonym, but for answers and links, which are gone.
  expect(await tablesWith(pseudonym)).toEqual(
    before.filter((name) => !["app_private.idempotent_answers", "app_private.sign_ins"].includes(name)),
  );
  const { rows: mails } = await db().query(
    "select from app_private.mails where recipient = $1 and num_nonnulls(sent_at, kept_at, failed_at) = 0",
    [pseudonym],
  );
  expect(mails).toEqual([]);
  // Of those that were sent it is kept what they were about, not to whom, nor in which words.
  const { rows: words } = await db().query<{ kept: string[] }>(
    `select array_remove(array[recipient_name, subject, text_body, html_body], null) as kept from app_private.mails
     where recipient = $1`,
    [pseudonym],
  );
  expect(words.length).toBeGreaterThan(0);
  expect(words.flatMap(({ kept }) => kept)).toEqual([]);
  const { rows: trail } = await db().query("select subject from app_private.trail where name = $1", [
    pseudonym,
  ]);
  expect(trail.map(({ subject }) => subject)).toContain("person");
  await db().query("drop table app_private.later");
  await db().query("delete from app_public.users where email in ($1, $2)", [longer, neighbour]);

  // Once more is no harm, and nothing is kept.
  expect(await erase(person)).toMatchObject({ code: 0, pseudonym: null, changed: {} });
  expect(await json("people", "export", "--email", person)).toMatchObject({ code: 0, kept: {} });
});

test("nobody acts in the name of an erased person, who may come back as somebody new", async () => {
  await beEverywhere();
  const { pseudonym } = await erase(person);
  for (const email of [person, pseudonym]) {
    expect(await door.declareNeed(declaration(email))).toEqual({ refusal: "403 membership_required" });
  }
  expect(
    await door.setMemberStatus({
      ...{ orgUri: organization.uri, userEmail: pseudonym, status: "active", adminEmail: boss },
    }),
  ).toEqual({ refusal: "404 member_not_found" });
  expect(
    await door.setPlatformRole({ userEmail: pseudonym, role: "admin", adminEmail: m.platformAdmin }),
  ).toEqual({ refusal: "404 user_not_found" });
  expect(await door.claim(m.claimOf(organization, pseudonym))).toEqual({ refusal: "400 validation_failed" });
  const { rows: open } = await db().query(
    `select from app_public.organization_claims join app_public.users using (user_id)
     where email = $1 and status not in ('approved', 'rejected')`,
    [pseudonym],
  );
  expect(open).toEqual([]);
  const { rows: roles } = await db().query(
    "select role from app_public.platform_roles join app_public.users using (user_id) where email = $1",
    [pseudonym],
  );
  expect(roles).toEqual([]);

  expect(await door.claim(m.claimOf(organization, person))).toMatchObject({
    value: { resultVariant: "request-sent" },
  });
  const { rows } = await db().query("select from app_public.users where lower(email) = lower($1)", [person]);
  expect(rows).toHaveLength(1);
});

test("an address is not replaced before its person can do nothing more, nor while a claim of theirs waits", async () => {
  await door.claim(m.claimOf(organization, person));
  const step = (name: string) => db().query(`select app_private.${name}($1)`, [person]);
  const early = { message: "begin_erasure comes first" };
  await expect(step("close_claims")).rejects.toMatchObject(early);
  await expect(step("finish_erasure")).rejects.toMatchObject(early);
  await db().query("select app_private.begin_erasure($1, false)", [person]);
  await expect(step("finish_erasure")).rejects.toMatchObject({ message: "close_claims comes first" });
  // Nothing of it has been done yet, so that all of it can be.
  const { rowCount } = await db().query("select from app_public.users where email = $1", [person]);
  expect(rowCount).toBe(1);
  expect(await eraseAtOnce(person)).toMatch(/^erased-/);
});

test("an approved claim does not stand in for an erased person either", async () => {
  await m.addApprovedClaim(db(), organization, person);
  expect(await door.declareNeed(declaration(person))).toMatchObject({ value: { status: "open" } });
  // The directory would have it again with the next import, so the operator is told of it.
  await db().query(
    "insert into app_public.churches (church_id, name, contact_emails) values ($1, 'x', array[$2])",
    [organization.domain, person.toUpperCase()],
  );
  const { pseudonym, churches } = await erase(person);
  expect(churches).toBe(1);
  await db().query("delete from app_public.churches");
  expect(await door.declareNeed(declaration(pseudonym))).toEqual({ refusal: "403 membership_required" });
  expect(await m.membershipOf(db(), organization.uri, pseudonym)).toBe("org_contributor revoked");
});

const NO_ADDRESSES = ["text 1", "", "x@y", "PAT ", "<PAT>", "mailto:PAT", "PAT\n"];
test.each(NO_ADDRESSES)(
  "what is nobody's address is refused wherever the operator names a person: %j",
  async (text) => {
    await door.claim(m.claimOf(organization, person));
    const email = ["--email", text.replace("PAT", person)];
    for (const command of [
      ["people", "export", ...email],
      ["people", "erase", ...email],
      ["sessions", "list", ...email],
      ["authorization", "explain", ...email, "--org", organization.uri, "--permission", "needs:write"],
      ["members", "add", ...email, "--org", organization.uri, "--role", "org_member"],
      // A command line of blanks alone names nobody, and is refused as such.
      ...(text === "" ? [] : [["sessions", "end", ...email]]),
    ]) {
      expect([command, await inProcess(...command)]).toEqual([
        command,
        { code: 2, error: "validation_failed", message: "email must be an e-mail address." },
      ]);
    }
    for (const step of ["begin_erasure($1, false)", "close_claims($1)", "finish_erasure($1)"]) {
      await expect(db().query(`select app_private.${step}`, [email[1]])).rejects.toMatchObject({
        detail: "validation_failed",
      });
    }
  },
);

test("an address that was accepted under earlier rules is still a person's", async () => {
  const long = `${"x".repeat(80)}@${organization.domain}`;
  await db().query("alter table app_public.users disable trigger validate");
  await db().query("insert into app_public.users (email) values ($1)", [long]);
  await db().query("alter table app_public.users enable trigger validate");
  expect(await inProcess("people", "erase", "--email", long)).toMatchObject({
    code: 0,
    pseudonym: expect.stringMatching(/^erased-/),
  });
});

test("what is another's address as a whole stays theirs, and in texts what is plainly the person's goes", async () => {
  const at = organization.domain;
  const [brien, other, dashed, jim] = ["brien", "o'brien", "-brien", "jim.brien"].map(
    (name) => `${name}@${at}`,
  );
  // As its owner wrote it.
  const loud = `D'Brien@${at}`;
  for (const email of [brien!, other!, dashed!, loud]) {
    await db().query("select app_private.add_member($1, $2, 'org_admin')", [organization.uri, email]);
  }
  const text = (one: string) =>
    `Ask ${one}, '${one}', (${one}), mailto:${one}, x=${one}, *${one}*, メール${one}まで, --${one}, ${one}-- or ${one.toUpperCase()}.`;
  const others = `Not ${other}, ${dashed}, ${other!.toUpperCase()}, ${loud.toLowerCase()}, ${jim}, x.${brien}, ${brien}.org or ${brien}-x.org.`;
  const needs = { [brien!]: text(brien!), [other!]: others };
  for (const [email, needDescription] of Object.entries(needs)) {
    expect(await door.declareNeed({ ...declaration(email), needDescription })).toHaveProperty("value");
  }
  await db().query(
    "insert into app_private.api_keys (label, key_hash, scope, persons) values ($2::text, sha256($2::text::bytea), 'api_read', array[$1, $2, '=' || $1])",
    [brien, other],
  );
  // Written without a space, it is in a text all the same.
  const label = `laptop/${brien}`;
  await db().query(
    "insert into app_private.api_keys (label, key_hash, scope) values ($1::text, sha256($1::text::bytea), 'api_read')",
    [label],
  );
  await db().query(
    "insert into app_public.churches (church_id, name, contact_emails) values ($1, $2, array[$2])",
    [at, other],
  );

  const { kept } = await inProcess("people", "export", "--email", brien!);
  expect(kept["app_public.needs"]).toHaveLength(1);
  expect(kept["app_public.users"]).toHaveLength(1);
  const { pseudonym, churches } = await inProcess("people", "erase", "--email", brien!);
  expect(churches).toBe(0);
  await db().query("delete from app_public.churches");
  const { rows } = await db().query<{ email: string; text: string }>(
    `select declared_by_email as email, need_description as text from app_public.needs where org_uri = $1 order by 1 desc`,
    [organization.uri],
  );
  expect(rows).toEqual([
    { email: other, text: others },
    // Before two dashes it may be the longer address.
    {
      email: pseudonym,
      text: text(pseudonym)
        .replace(`--${pseudonym}`, `--${brien}`)
        .replace(/ERASED\S+INVALID/, pseudonym),
    },
  ]);
  const { rows: keys } = await db().query("select persons from app_private.api_keys where label = $1", [
    other,
  ]);
  expect(keys).toEqual([{ persons: [pseudonym, other, `=${brien}`] }]);
  const { rows: labels } = await db().query(
    "select label from app_private.api_keys where label like 'laptop/%'",
  );
  expect(labels).toEqual([{ label: `laptop/${pseudonym}` }]);
  expect(await m.membershipOf(db(), organization.uri, other!)).toBe("org_admin active");
});

test("however many addresses end in a person's, and an organization's URI with it over and over, they are erased", async () => {
  const email = `ana@${organization.domain}`;
  await db().query("select app_private.add_member($1, $2, 'org_admin')", [organization.uri, email]);
  await db().query(
    "insert into app_public.users (email) select format('%s-%s=%s', repeat('x', 50), n, $1::text) from generate_series(1, 3000) as n",
    [email],
  );
  await db().query(
    "insert into app_public.organizations (org_uri, name, type) values ('https://x.example/' || repeat($1 || '/', 80), 'Many', 'CHURCH')",
    [email],
  );
  const label = `Ask ${email}, not 'x=${email}'`;
  await db().query(
    "insert into app_private.api_keys (label, key_hash, scope) values ($1::text, sha256($1::text::bytea), 'api_read')",
    [label],
  );
  const { code, pseudonym, remains } = await inProcess("people", "erase", "--email", email, "--force");
  expect([code, remains]).toMatchObject([1, [{ table: "app_public.organizations", column: "org_uri" }]]);
  const { rows } = await db().query("select from app_public.users where email = $1", [email]);
  expect(rows).toEqual([]);
  const { rows: labels } = await db().query(
    "select label from app_private.api_keys where label like 'Ask %'",
  );
  expect(labels[0].label.startsWith(`Ask ${pseudonym}, `)).toBe(true);
  await db().query("delete from app_public.users where email like 'xxxx%'");
});

test("another's address stays theirs though a hundred others are longer, which nobody takes for the person's anyway", async () => {
  const email = `bea@${organization.domain}`;
  const other = `o'${email}`;
  await db().query("select app_private.add_member($1, $2, 'org_member')", [organization.uri, email]);
  await db().query(
    `insert into app_public.users (email, created_at)
     select format('n%s.%s', n, $1::text), now() - interval '1 year' from generate_series(1, 100) as n union all select $2, now()`,
    [email, other],
  );
  await db().query(
    "insert into app_private.api_keys (label, key_hash, scope) values ($1::text, sha256($1::text::bytea), 'api_read')",
    [`Of ${email} or ${other}`],
  );
  const { pseudonym } = await inProcess("people", "erase", "--email", email);
  const { rows } = await db().query("select label from app_private.api_keys where label like 'Of %'");
  expect(rows).toEqual([{ label: `Of ${pseudonym} or ${other}` }]);
  await db().query("delete from app_public.users where email like '%' || $1", [email]);
});

test("organizations keep their URIs, however many have the address in them, alone or as part of another's", async () => {
  const email = `ana@${organization.domain}`;
  await db().query("select app_private.add_member($1, $2, 'org_contributor')", [organization.uri, email]);
  const add = (uri: string, count: number) =>
    db().query(
      "insert into app_public.organizations (org_uri, name) select format($1, n), 'Many' from generate_series(1, $2) as n",
      [uri, count],
    );
  await add(`https://s%s.example/di${email}`, 110);
  // With more before the address than the pattern has room for URIs.
  const partner = `https://z.example/partners/${"x".repeat(110)}/${email}`;
  await add(partner, 1);
  await db().query(
    "insert into app_private.api_keys (label, key_hash, scope, organizations) values ($1, sha256($1::text::bytea), 'api_read', array[$1])",
    [partner],
  );
  const uris = async () => {
    const { rows } = await db().query<{ uri: string }>(
      "select org_uri as uri from app_public.organizations where strpos(org_uri, $1) > 0 order by org_uri",
      [email],
    );
    return rows.map(({ uri }) => uri);
  };
  const before = await uris();
  const { remains } = await inProcess("people", "erase", "--email", email);
  expect(remains).toMatchObject([{ table: "app_public.organizations", row: { org_uri: partner } }]);
  expect(await uris()).toEqual(before);
  const { rows: keys } = await db().query(
    "select label, organizations from app_private.api_keys where $1 = any (organizations)",
    [partner],
  );
  expect(keys).toEqual([{ label: partner, organizations: [partner] }]);

  // More of them than one pattern is made of.
  await add(`https://t%s.example/${email}`, 110);
  // With one that has no room for the pseudonym, so that they are gone through one by one.
  await db().query("update app_public.organizations set name = rpad($1, 198, ' x') where org_uri = $2", [
    email,
    `https://t1.example/${email}`,
  ]);
  const all = await uris();
  expect(await inProcess("people", "erase", "--email", email)).toMatchObject({ code: 1 });
  expect(await uris()).toEqual(all);
  await db().query("delete from app_public.organizations where strpos(org_uri, $1) > 0", [email]);
});

/** Whether others could lock what they need for a claim of the person's to an organization, without waiting. */
async function isFree(email: string, orgUri: string): Promise<void> {
  for (const [statement, value] of [
    ["app_public.organization_claims as t where t.org_uri = $1", orgUri],
    ["app_public.organizations as t where t.org_uri = $1", orgUri],
    ["app_public.users as t where t.email = $1", email],
  ]) {
    await db().query(`select from ${statement} for no key update nowait`, [value]);
  }
}

test("nobody waits for an erasure that waits for a mail which is being handed over", async () => {
  const { value } = await door.claim(m.claimOf(organization, person));
  await db().query("select app_private.begin_erasure($1, false)", [person]);
  await expect(db().query("select app_private.finish_erasure($1)", [person])).rejects.toThrow("close_claims");
  await db().query("select app_private.close_claims($1)", [person]);
  const outcome = await onConnections(service.database, 2, async (worker, erasing) => {
    await worker.query("begin");
    const { rowCount } = await worker.query(
      "select from app_private.mails where data ->> 'claimId' = $1 for update",
      [value.claimId],
    );
    expect(rowCount).toBeGreaterThan(0);
    const erasure = await waiting(service.database, erasing, (client) =>
      client.query("select app_private.finish_erasure($1)", [person]),
    );
    await isFree(person, organization.uri);
    await worker.query("commit");
    return erasure.outcome;
  });
  expect(outcome).toMatchObject({ rowCount: 1 });
  expect(await tablesWith(person)).toEqual([]);
});

test("nobody waits for claims and organizations while an erasure searches everything else", async () => {
  const { value } = await door.claim({ ...m.claimOf(organization, person), roles: [`I am ${person}`] });
  await db().query("update app_public.organizations set website = $2 where org_uri = $1", [
    organization.uri,
    `https://site.example/?mail=${person}`,
  ]);
  await db().query("create table app_public.searched (words text)");
  await db().query("insert into app_public.searched values ($1)", [person]);
  try {
    await beginErasure(person);
    await onConnections(service.database, 2, async (writer, erasing) => {
      await writer.query("begin; select from app_public.searched for update");
      const erasure = await waiting(service.database, erasing, (client) =>
        client.query("select app_private.finish_erasure($1)", [person]),
      );
      await db().query("select from app_public.organizations where org_uri = $1 for no key update nowait", [
        organization.uri,
      ]);
      await db().query(
        "select from app_public.organization_claims where claim_id = $1 for no key update nowait",
        [value.claimId],
      );
      await writer.query("commit");
      expect(await erasure.outcome).toMatchObject({ rowCount: 1 });
    });
    expect(await tablesWith(person)).toEqual([]);
  } finally {
    await db().query("drop table app_public.searched");
  }
});

test("a mail that says a person's address is composed anew or says nothing more, and another's stays as it was sent", async () => {
  const [brien, other] = ["brien", "o'brien"].map((name) => `${name}@${organization.domain}`);
  const { value } = await door.claim(m.claimOf(organization, person));
  await door.review({ claimId: value.claimId, action: "reject", adminEmail: boss, notes: `Ask ${other}.` });
  await sendMails({
    ...{ pool: db(), mailer: undefined, platformUrl: "https://platform.example" },
    logger: pino({ level: "silent" }),
  });
  const mail = async () => {
    const { rows } = await db().query(
      `select subject, text_body as text, html_body as html, data ->> 'notes' as notes from app_private.mails
       where kind = 'claim_rejected' and data ->> 'claimId' = $1`,
      [value.claimId],
    );
    return rows[0];
  };
  const sent = await mail();
  expect(sent.html).toContain(`o&#39;${brien}`);
  for (const email of [brien!, other!]) {
    await db().query("insert into app_public.users (email) values ($1)", [email]);
  }
  await eraseAtOnce(brien!);
  expect(await mail()).toEqual(sent);
  const pseudonym = await eraseAtOnce(other!);
  expect(await mail()).toEqual({ subject: null, text: null, html: null, notes: `Ask ${pseudonym}.` });
});

test("of the answers that are kept for repetitions those go that say a person's address, by what their JSON says", async () => {
  await db().query("insert into app_public.users (email) values ($1)", [person]);
  await db().query(
    "insert into app_private.api_keys (label, key_hash, scope) values ($1::text, sha256($1::text::bytea), 'api_read')",
    [organization.uri],
  );
  const { value } = await door.claim(m.claimOf(organization, person));
  const answers = {
    // Who comes back and claims again is not told of a claim that is nobody's any more.
    claim: JSON.stringify({ claimId: value.claimId, status: "pending" }),
    line: JSON.stringify({ description: `Wells.\n${person} knows more.` }),
    // Also where, in a text, the beginning would be taken for a quotation mark.
    other: JSON.stringify({ members: [{ email: `x${person}` }, { email: `o'${person}` }] }),
    text: `Not JSON, of ${person}`,
  };
  for (const [key, answer] of Object.entries(answers)) {
    await db().query(
      `insert into app_private.idempotent_answers (key_id, idempotency_key, fingerprint, answer)
       select key_id, $2, '', $3 from app_private.api_keys where label = $1`,
      [organization.uri, key, answer],
    );
  }
  await eraseAtOnce(person);
  const { rows } = await db().query(
    `select idempotency_key as key, answer from app_private.idempotent_answers
     where key_id = (select key_id from app_private.api_keys where label = $1)`,
    [organization.uri],
  );
  expect(rows).toEqual([{ key: "other", answer: answers.other }]);
});

test("an erasure may take longer than the operator lets statements take", async () => {
  await db().query("insert into app_public.users (email) values ($1)", [person]);
  await db().query(`
    create function app_private.note_limit() returns trigger language plpgsql as $$
    begin
      if current_setting('statement_timeout') <> '0' then raise 'limited to %', current_setting('statement_timeout'); end if;
      return null;
    end $$;
    create trigger zz_limit before update on app_public.users for each statement execute function app_private.note_limit()`);
  try {
    const url = new URL(settings().DATABASE_URL);
    url.searchParams.set("options", "-c statement_timeout=1h");
    await db().query(
      "insert into app_public.churches (church_id, name, contact_emails) values ('limit', 'x', array[$1])",
      [person],
    );
    const told = await admin(["people", "erase", "--email", person], { DATABASE_URL: url.href });
    expect(told).toMatchObject({ code: 0, stderr: "" });
    expect(told.stdout).toMatch(
      /^The person is erased-\S+ now, in \d+ rows of app_\w+\.[^]*\n1 churches of the directory have the address/,
    );
  } finally {
    await db().query("drop function app_private.note_limit() cascade; delete from app_public.churches");
  }
});

describe("the last who administers", () => {
  test("an organization is kept, unless forced", async () => {
    expect(await erase(boss)).toMatchObject({
      code: 2,
      error: "last_admin",
      message: expect.stringContaining(organization.uri),
    });
    expect(await m.membershipOf(db(), organization.uri, boss)).toBe("org_admin active");
    // Nor is it done by halves.
    for (const step of ["close_claims", "finish_erasure"]) {
      await expect(db().query(`select app_private.${step}($1)`, [boss])).rejects.toThrow("begin_erasure");
    }
    expect(await erase(boss, "--force")).toMatchObject({ code: 0, bereft: [organization.uri] });
    const { rows } = await db().query("select from app_private.organization_managers where org_uri = $1", [
      organization.uri,
    ]);
    expect(rows).toEqual([]);
  });

  test("what only they could decide goes to the platform, whose reviewers are told; what others can decide stays", async () => {
    const shared = await m.addOrganization(db(), { boss: "org_admin", other: "org_admin" });
    await db().query("select app_private.add_member($1, $2, 'org_admin')", [shared.uri, boss]);
    const [alone, both, decided] = [
      await door.claim(m.claimOf(organization, "kim@elsewhere.example")),
      await door.claim(m.claimOf(shared, "kim@elsewhere.example")),
      await door.claim(m.claimOf(organization, "lou@elsewhere.example")),
    ].map(({ value }) => value.claimId as string);
    await door.review({ claimId: decided!, action: "approve", adminEmail: boss });
    // The link by which its claimant was to prove the address may be old by then.
    await db().query("update app_private.sign_ins set created_at = created_at - interval '2 days'");
    await db().query("select app_private.begin_erasure($1, true)", [boss]);
    await db().query("select app_private.close_claims($1)", [boss]);
    const routed = async (claimId: string) => {
      const { rows } = await db().query<{ route: string; mails: string[] }>(
        `select c.routed_to as route, array(
           select m.kind || ' ' || m.recipient from app_private.mails as m
           where m.data ->> 'claimId' = c.claim_id::text and m.kind = 'claim_queue' order by 1) as mails
         from app_public.organization_claims as c where c.claim_id = $1`,
        [claimId],
      );
      return rows[0];
    };
    expect(await routed(alone!)).toEqual({
      route: "platform",
      mails: [m.platformAdmin, m.support].map((who) => `claim_queue ${who}`).toSorted(),
    });
    expect(await routed(both!)).toEqual({ route: "organization", mails: [] });
    expect(await routed(decided!)).toEqual({ route: "organization", mails: [] });
  });

  test("the platform is kept as well", async () => {
    expect(await erase(m.platformAdmin)).toMatchObject({
      code: 2,
      error: "last_admin",
      message: expect.stringContaining("the platform"),
    });
    const { rows } = await db().query(
      "select from app_private.platform_powers where permission = 'roles:assign'",
    );
    expect(rows).toHaveLength(1);
    const client = await db().connect();
    try {
      await client.query("begin");
      const { rows: forced } = await client.query("select app_private.begin_erasure($1, true) as bereft", [
        m.platformAdmin,
      ]);
      expect(forced).toEqual([{ bereft: ["the platform"] }]);
      await client.query("rollback; begin");
      // Who may do so by two roles is one person still.
      await client.query(
        `delete from app_public.platform_roles where role = 'support';
         insert into app_public.platform_roles (user_id, role) select user_id, 'support' from app_public.platform_roles;
         insert into app_public.platform_permissions (role, permission) values ('support', 'roles:assign')`,
      );
      await expect(
        client.query("select app_private.begin_erasure($1, false)", [m.platformAdmin]),
      ).rejects.toMatchObject({ detail: "last_admin" });
    } finally {
      await client.query("rollback");
      client.release();
    }
  });
});

test("of texts about an erased person only the whole name goes", async () => {
  const { value } = await door.claim({
    ...m.claimOf(organization, person),
    ...{
      firstName: "Pat",
      lastName: "Lee",
      roles: ["Pat Lee, director", "Assistant of Clapat Lee, Pat Leeds and Pat Lee\u0301"],
    },
  });
  const pseudonym = await eraseAtOnce(person);
  const { rows } = await db().query<{ roles: string[] }>(
    "select stated_roles as roles from app_public.organization_claims where claim_id = $1",
    [value.claimId],
  );
  expect(rows[0]!.roles).toEqual([
    `${pseudonym}, director`,
    "Assistant of Clapat Lee, Pat Leeds and Pat Lee\u0301",
  ]);
});

test("no text of a stranger keeps a person from being erased, and what remains is named", async () => {
  const long = (text: string) => `${text} ${"x".repeat(197 - text.length)}`;
  const { value } = await door.claim({
    ...{ ...m.claimOf(organization, `stranger@${organization.domain}`), orgUri: undefined, isNewOrg: true },
    ...{ orgName: long(person), firstName: "Sly", lastName: long(person) },
  });
  const named = `https://social.example/@${person}`;
  await db().query(
    "insert into app_public.organizations (org_uri, name, website) values ($1, 'Handle', $2)",
    [named, `https://site.example/?mail=${person}`],
  );
  await db().query("select app_private.add_member($1, $2, 'org_admin')", [named, person]);
  await db().query("select app_private.add_member($1, $2, 'org_admin')", [named, boss]);
  await db().query("select app_private.add_member($1, $2, 'org_contributor')", [organization.uri, person]);
  await db().query(
    "insert into app_private.api_keys (label, key_hash, scope, organizations) values ($1::text, sha256($1::text::bytea), 'api_read', array[$2])",
    [long(person), named],
  );
  expect(
    await door.declareNeed({
      ...declaration(person),
      orgUri: named,
      needDescription: `See ${named}, ${person}.`,
    }),
  ).toHaveProperty("value");
  await db().query(
    "create table app_private.stuck (id integer primary key, words text check (words !~ 'gone|erased'))",
  );
  await db().query("insert into app_private.stuck values (1, $1), (2, 'else')", [person]);
  try {
    const uri = {
      ...{ table: "app_public.organizations", row: { org_uri: named }, column: "org_uri" },
      reason: "an organization is known by its URI",
    };
    const stuck = {
      ...{ table: "app_private.stuck", row: { id: 1 }, column: "words" },
      reason: expect.stringContaining("stuck_words_check"),
    };
    const erased = await inProcess("people", "erase", "--email", person);
    expect(erased).toMatchObject({ code: 1, remains: [uri, stuck], changed: { "app_private.api_keys": 1 } });
    const { pseudonym } = erased;
    const { rows } = await db().query(
      `select o.name, o.website, u.last_name, k.label, n.need_description as said, n.declared_by_email as by, k.organizations
       from app_public.organizations as o, app_public.users as u, app_private.api_keys as k, app_public.needs as n
       where o.org_uri in ($1, $2) and u.first_name = 'Sly' and k.organizations = array[$2] and n.org_uri = $2
       order by o.org_uri = $2`,
      [value.orgUri, named],
    );
    const gone = long(person).replace(person, "gone");
    const same = {
      ...{ last_name: gone, label: gone, said: `See ${named}, ${pseudonym}.`, by: pseudonym },
      organizations: [named],
    };
    expect(rows).toEqual([
      { ...same, name: gone, website: null },
      { ...same, name: "Handle", website: `https://site.example/?mail=${pseudonym}` },
    ]);
    expect(await m.membershipOf(db(), named, boss)).toBe("org_admin active");

    expect(await tool(["people", "erase", "--email", person], settings())).toEqual({
      code: 1,
      stderr: "",
      stdout: expect.stringMatching(
        /^Nothing else is stored about this person\.\nThe address remains in app_public\.organizations, org_uri of \{"org_uri":"[^]*\n.* in app_private\.stuck, words of \{"id":1\}: .*\n$/,
      ),
    });
  } finally {
    await db().query("drop table app_private.stuck");
  }
});

test("an erasure that something else is in the way of is not done by halves", async () => {
  await db().query("select app_private.add_member($1, $2, 'org_contributor')", [organization.uri, person]);
  await db().query("create table app_private.busy (words text)");
  await db().query("insert into app_private.busy values ($1)", [person]);
  await db().query(`
    create function app_private.be_busy() returns trigger language plpgsql as $$
    begin raise exception using errcode = 'deadlock_detected', message = 'in the way'; end $$;
    create trigger busy before update on app_private.busy for each row execute function app_private.be_busy()`);
  try {
    expect(await inProcess("people", "erase", "--email", person)).toMatchObject({
      code: 2,
      message: "in the way",
    });
    expect((await db().query("select from app_public.users where email = $1", [person])).rowCount).toBe(1);
  } finally {
    await db().query("drop table app_private.busy; drop function app_private.be_busy");
  }
  expect(await inProcess("people", "erase", "--email", person)).toMatchObject({ code: 0, remains: [] });
});

test.each([
  ["Zanaq", '"Quillfeather Jr."', 'Zanaq "Quillfeather Jr.", Zanaq "Quillfeather Jr."'],
  ["(Zanaq)", "Q.", "(Zanaq) Q. and (zanaq)\n  Q."],
  ["…", "!", "… !, … !"],
  ["Å", "É", "Å É; Å É"],
  ["Zanaq", "Jim\u00e9nez", "Zanaq Jime\u0301nez, Zanaq Jim\u00e9nez"],
  ["Zanaq", "Jime\u0301nez", "Zanaq Jime\u0301nez, Zanaq Jim\u00e9nez"],
  // Neither the one form nor the other.
  ["Ze\u0301naq", "Jim\u00e9nez", "Ze\u0301naq Jim\u00e9nez, Z\u00e9naq Jim\u00e9nez"],
])("a full name goes whatever it begins and ends with: %s %s", async (firstName, lastName, said) => {
  const { value } = await door.claim({ ...m.claimOf(organization, person), firstName, lastName });
  await db().query(
    "update app_public.organization_claims set review_notes = $2, stated_roles = array[$2] where claim_id = $1",
    [value.claimId, `Met ${said}`],
  );
  await db().query(
    "update app_private.mails set data = data || jsonb_build_object('said', $1::text) where data ->> 'claimId' = $2",
    [said, value.claimId],
  );
  const pseudonym = await eraseAtOnce(person);
  const { rows } = await db().query<{ kept: string[] }>(
    `select stated_roles || array(select data ->> 'said' from app_private.mails where data ->> 'claimId' = $1) as kept
     from app_public.organization_claims where claim_id::text = $1`,
    [value.claimId],
  );
  const separator = / and |[,;] /.exec(said)![0];
  const names = [pseudonym, pseudonym].join(separator);
  expect(new Set(rows[0]!.kept)).toEqual(new Set([`Met ${names}`, names]));
});

test("what an erased person has proposed goes with them, and no mail about it has a name", async () => {
  const { value } = await door.claim({
    ...{ ...m.claimOf(organization, person), orgUri: undefined, orgName: "Wells for Niger", isNewOrg: true },
    ...{ firstName: "Pat", lastName: "O'Perez" },
  });
  const named = `select from app_private.mails where data ->> 'claimId' = $1 and data ? 'claimantName'`;
  expect((await db().query(named, [value.claimId])).rowCount).toBeGreaterThan(0);
  await beginErasure(person);
  // Or the worker could send it before the address is replaced.
  const { rows: told } = await db().query("select kind from app_private.mails where recipient = $1", [
    person,
  ]);
  expect(told).toEqual([{ kind: "confirm_claim" }]);
  await db().query("select app_private.finish_erasure($1)", [person]);
  expect((await db().query(named, [value.claimId])).rowCount).toBe(0);
  const { rows } = await db().query(
    `select o.status, c.review_notes as notes from app_public.organizations as o
     join app_public.organization_claims as c on c.org_uri = o.org_uri where o.org_uri = $1`,
    [value.orgUri],
  );
  expect(rows).toEqual([{ status: "rejected", notes: "This person was erased." }]);
});

test("a link that waits for somebody who is not among the users is not sent any more", async () => {
  await db().query(
    `insert into app_private.mails (unique_key, kind, recipient, data)
     values ('link:' || $1, 'sign_in', $1, '{"link": "/sign-in?token=x"}')`,
    [person],
  );
  expect(await inProcess("people", "erase", "--email", person)).toMatchObject({ code: 0, remains: [] });
  expect((await db().query("select from app_private.mails where unique_key ~ '^link:'")).rowCount).toBe(0);
});

test("an address goes from a page that only begins as an organization's URI does, or goes on behind it", async () => {
  await db().query("select app_private.add_member($1, $2, 'org_contributor')", [organization.uri, person]);
  const page = `https://pages.example/${person}`;
  const uri = `${page}/wells`;
  await db().query("insert into app_public.organizations (org_uri, name, website) values ($1, $2, $3)", [
    ...[uri, `Wells, ${page}, ${uri}.`, `${uri}2`],
  ]);
  const { pseudonym } = await inProcess("people", "erase", "--email", person);
  const { rows } = await db().query("select name, website from app_public.organizations where org_uri = $1", [
    uri,
  ]);
  const gone = `https://pages.example/${pseudonym}`;
  expect(rows).toEqual([{ name: `Wells, ${gone}, ${uri}.`, website: `${gone}/wells2` }]);
  await db().query("delete from app_public.organizations where org_uri = $1", [uri]);
});

test("an address goes from the parameters of a page too, where @ and + are written as %40 and %2B", async () => {
  const email = `ana+field@${organization.domain}`;
  const written = (local: string) => `${local}%2bField%40${organization.domain}`;
  await db().query("select app_private.add_member($1, $2, 'org_contributor')", [organization.uri, email]);
  const uri = `https://pages.example/people?of=${written("ana")}`;
  // What is a longer address, or somebody else's, is neither.
  const others = `${written("ana")}@pages.example, ${written("x.ana")}, ana%2Bfield%40x.${organization.domain}`;
  const [page, label] = [`https://pages.example/mail?to=${written("Ana")}&cc=`, written("ANA")];
  await db().query("insert into app_public.organizations (org_uri, name, website) values ($1, $2, $3)", [
    ...[uri, others, page],
  ]);
  await db().query(
    `insert into app_private.api_keys (label, key_hash, scope, organizations)
     values ($1::text, sha256($1::text::bytea), 'api_read', array[$2])`,
    [label, uri],
  );
  const { kept } = await inProcess("people", "export", "--email", email);
  expect(kept["app_public.organizations"]).toHaveLength(1);
  const { pseudonym, remains } = await inProcess("people", "erase", "--email", email);
  expect(remains).toMatchObject([{ table: "app_public.organizations", row: { org_uri: uri } }]);
  const { rows } = await db().query(
    `select o.org_uri, o.name, o.website, k.label from app_public.organizations as o
     join app_private.api_keys as k on k.organizations = array[o.org_uri] where o.org_uri = $1`,
    [uri],
  );
  expect(rows).toEqual([
    {
      ...{ org_uri: uri, name: others, label: pseudonym },
      website: `https://pages.example/mail?to=${pseudonym}&cc=`,
    },
  ]);
  await db().query("delete from app_private.api_keys where label = $1", [pseudonym]);
  await db().query("delete from app_public.organizations where org_uri = $1", [uri]);
});

test("an address with a % in it is found, and is nobody else's whose own it is when it is read as part of a page's address", async () => {
  const [plus, percent] = ["ana+tag", "ana%2btag"].map((name) => `${name}@${organization.domain}`);
  for (const email of [plus!, percent!]) {
    await db().query("select app_private.add_member($1, $2, 'org_contributor')", [organization.uri, email]);
    expect(await door.declareNeed({ ...declaration(email), needDescription: email })).toHaveProperty("value");
  }
  const needs = async () => {
    const { rows } = await db().query<{ email: string; text: string }>(
      `select declared_by_email as email, need_description as text from app_public.needs
       where need_description ~ '^(ana|erased)' order by created_at`,
    );
    return rows.map(({ email, text }) => [email, text]);
  };
  const first = await eraseAtOnce(plus!);
  expect(await needs()).toEqual([
    [first, first],
    [percent, percent],
  ]);
  const second = await eraseAtOnce(percent!);
  expect(await needs()).toEqual([
    [first, first],
    [second, second],
  ]);
  await db().query("delete from app_public.needs where need_description ~ '^erased'");
});

test("of a mail that failed it is kept that it did, and no word of it, to an erased person or about them", async () => {
  await db().query("select app_private.add_member($1, $2, 'org_contributor')", [organization.uri, person]);
  await db().query(
    `insert into app_private.mails
       (unique_key, kind, recipient, recipient_name, data, subject, text_body, html_body, failed_at)
     select format('failed:%s %s', $3::text, recipient), 'claim_request', recipient, recipient_name, data, 'To Pat', 'Dear Pat',
       '<p>Dear Pat', now()
     from (values ($1, 'Pat', '{}'::jsonb), ($2, null, jsonb_build_object('claimantEmail', $1::text)))
       as m (recipient, recipient_name, data)`,
    [person, m.support, organization.uri],
  );
  await eraseAtOnce(person);
  const { rows } = await db().query(
    `select recipient_name, subject, text_body, html_body from app_private.mails
     where unique_key like format('failed:%s %%', $1::text)`,
    [organization.uri],
  );
  const nothing = { recipient_name: null, subject: null, text_body: null, html_body: null };
  expect(rows).toEqual([nothing, nothing]);
});

test("what was let through before is waited for, and what comes meanwhile is refused", async () => {
  await db().query("select app_private.add_member($1, $2, 'org_contributor')", [organization.uri, person]);
  const writer = await db().connect();
  try {
    await writer.query("begin");
    await writer.query("select app_private.authorize($1, $2, 'needs:write')", [organization.uri, person]);
    const erasing = launch(
      process.execPath,
      ["admin/main.ts", "people", "erase", "--email", person, "--json"],
      settings(),
    );
    await eventually(async () => {
      expect(erasing.output().stderr).toMatch(/^waiting for process \d+ of PostgreSQL/);
    });
    expect(await door.declareNeed(declaration(person))).toEqual({ refusal: "403 membership_required" });
    expect(await door.claim(m.claimOf(await m.addOrganization(db()), person))).toEqual({
      refusal: "400 validation_failed",
    });
    // It has been authorized already.
    await writer.query(
      `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
       values ($1, 'x', $2, 'late', '{PRA}')`,
      [organization.uri, person],
    );
    await writer.query("commit");
    expect([await erasing.ended, erasing.output().stdout]).toEqual([0, expect.stringContaining("erased-")]);
    expect(await tablesWith(person)).toEqual([]);
  } finally {
    writer.release();
  }
});

test("an erasure that was broken off is finished by the next, which names the organizations in order", async () => {
  const others = [
    await m.addOrganization(db()),
    await m.addOrganization(db()),
    await m.addOrganization(db()),
  ];
  const uris = others.map(({ uri }) => uri).toSorted();
  for (const { uri } of others)
    await db().query("select app_private.add_member($1, $2, 'org_admin')", [uri, person]);
  const { rows } = await db().query("select app_private.begin_erasure($1, true) as bereft", [person]);
  expect(rows).toEqual([{ bereft: uris }]);
  expect(await erase(person)).toMatchObject({ code: 0, pseudonym: expect.stringMatching(/^erased-/) });
  expect(await tablesWith(person)).toEqual([]);
});

test("every column is looked through, unless its type can hold no address", async () => {
  const { rows } = await db().query<{ found: string }>(
    `select format('%s.%s %s', c.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod)) as found
     from pg_attribute as a
     join pg_class as c on c.oid = a.attrelid and c.relkind in ('r', 'p')
     join pg_type as t on t.oid = a.atttypid
     where c.relnamespace::regnamespace::text !~ '^(pg_|information_schema)' and a.attnum > 0 and not a.attisdropped
       and c.relname !~ '^church' and t.typtype <> 'e' and t.typcategory not in ('N', 'B', 'D', 'T')
       and t.typname not in ('uuid', 'bytea', '_cidr')
       and not exists (select from app_private.text_columns() as x where (x.relation, x.name) = (c.oid, a.attname))
     order by 1`,
  );
  // The names of migrations and of the rules are nobody's; what the HTML of a mail says its text says as well.
  expect(rows.map(({ found }) => found)).toEqual(
    [
      "app_private.mails.html_body text",
      "app_migrations.applied.version text",
      "app_migrations.applied.checksum text",
      "app_migrations.editions.edition text",
    ].toSorted(),
  );
});
