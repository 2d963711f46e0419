// What callers write stays out of the logs of server and worker, at every level, whatever goes wrong with it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import { importPeopleGroups } from "../worker/imports.ts";
import { startWorker } from "../worker/main.ts";
import type { Worker } from "../worker/main.ts";
import { eventually } from "./support/eventually.ts";
import { startFaultyProxy } from "./support/faulty-proxy.ts";
import type { FaultyProxy } from "./support/faulty-proxy.ts";
import { send } from "./support/graphql.ts";
import { toolCall } from "./support/mcp.ts";
import { ROOT } from "./support/process.ts";
import { startSharedStore } from "./support/projection.ts";
import type { SharedStore } from "./support/projection.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { TestMailServer } from "./support/smtp.ts";
import { testStores } from "./support/stores.ts";
import { admin, contributor, ORG } from "./support/world.ts";

const MARK = "Quendelwurz";
const address = (name: string) => `${name}.${MARK}@${MARK}.example`;

type Line = Record<string, unknown> & { msg: string };
const log: string[] = [];
/** Where the lines of the test that is running begin. */
let begin = 0;
const lines = () => log.slice(begin).map((line) => JSON.parse(line) as Line);
beforeEach(() => {
  begin = log.length;
});
const logger = pino({ level: "trace" }, { write: (line) => void log.push(line) });

let shared: SharedStore;
let proxy: FaultyProxy;
let store: GraphStore;
let service: TestService;
let worker: Worker;
const smtp = new TestMailServer();
beforeAll(async () => {
  const embedded = testStores.find(({ name }) => name === "embedded")!;
  shared = await startSharedStore(embedded);
  proxy = await startFaultyProxy(shared.urls, shared.headers);
  store = createGraphStore({ ...storeUrls(proxy.url), timeoutMs: 10_000 });
  service = await startTestService({ store, logger });
  await smtp.start();
  worker = await startWorkerWith({ SMTP_URL: smtp.url });
});
afterAll(async () => {
  await worker.stop();
  await smtp.stop();
  await service.stop();
  store.close();
  await proxy.stop();
  await shared.remove();
});

const startWorkerWith = (settings: NodeJS.ProcessEnv) =>
  startWorker({
    databaseUrl: service.database.url,
    store,
    // With a database of the operator's, mails that are only kept are not written to the log.
    config: loadConfig({
      ...{ ...settings, DATABASE_URL: service.database.url },
      ...{ PLATFORM_URL: service.url, GRAPH_VERIFY_SHARE: "0" },
    }),
    logger,
    // Sooner than in operation: nobody else uses this store.
    ...{ lookMs: 50, retryMs: 100, patienceMs: 100 },
  });
const db = () => service.database.owner;
const need = {
  ...{ orgUri: ORG, orgName: `River ${MARK}`, declaredByEmail: contributor },
  ...{ needDescription: `${MARK} for all`, accelerators: ["PRA-INT"] },
};
const post = (path: string, body: object | string, headers: Record<string, string> = {}) =>
  call(`${service.url}${path}`, "POST", service.keys.review, body, headers);
const declareByGraphql = (input: object) =>
  send(
    service,
    `mutation ${MARK}($input: DeclareNeedInput!) { ${MARK}: declareNeed(input: $input) { need { needId } } } # ${MARK}`,
    { input },
    "write",
  );
const claim = (name: string) =>
  post("/v0/onboarding/claim-org", {
    ...{ userEmail: address(name), firstName: `${MARK} A`, lastName: `${MARK} B`, roles: [MARK] },
    ...{ orgName: "River Mission", isNewOrg: false, orgUri: ORG },
  });
const reject = (claimId: string) =>
  post("/v0/admin/claims/review", { claimId, action: "reject", adminEmail: admin, notes: `No ${MARK}` });

/** Waits until a line was logged that is like this one, so that what it kept silent about can be looked for. */
const logged = (like: object) =>
  eventually(() => {
    expect(lines()).toContainEqual(expect.objectContaining(like));
    return Promise.resolve();
  }, 20_000);
const err = (like: object) => ({ err: expect.objectContaining(like) });

function expectSilence(): void {
  expect(log.filter((line) => line.toLowerCase().includes(MARK.toLowerCase()))).toEqual([]);
}

test("of what was done, and of what was refused", async () => {
  expect((await post("/v0/needs", need)).status).toBe(201);
  expect((await declareByGraphql(need)).errors).toBeUndefined();
  const made = await claim("first");
  expect((await reject(made.body.claimId)).status).toBe(200);

  const refused = [
    await post("/v0/needs", { ...need, accelerators: [MARK] }),
    await post("/v0/needs", { ...need, [MARK]: MARK }),
    await post("/v0/needs", { ...need, declaredByEmail: address("nobody") }),
    await post("/v0/needs", `{"needDescription": "${MARK}`),
    await post("/v0/needs", need, { "idempotency-key": MARK.repeat(40) }),
    await post(`/v0/${MARK}?email=${address("x")}`, {}),
    await call(`${service.url}/v0/needs/${MARK}`, "GET", service.keys.read),
    await call(`${service.url}/v0/needs`, "GET", `ek_${MARK}`, undefined, { "user-agent": MARK }),
    await call(`${service.url}/v0/mcp?apiKey=${MARK}`, "POST", undefined, {}),
    await call(`${service.url}/v0/needs`, "GET", undefined, undefined, { "x-request-id": address("x") }),
    await call(`${service.url}/v0/admin/claims`, "GET", service.keys.review, undefined, {
      "x-admin-email": address("x"),
    }),
    await call(`${service.url}/v0/sparql?query=${MARK}`, "GET", service.keys.read),
    await post("/v0/sparql", `select * { ?s ?p "${MARK}" `, { "content-type": "application/sparql-query" }),
  ];
  expect(refused.map(({ status }) => status).filter((status) => status < 400 || status >= 500)).toEqual([]);
  await post("/v0/mcp", toolCall({ q: MARK, [MARK]: MARK }));
  await post("/v0/mcp", toolCall({ locality: MARK }));
  await send(service, `{ ${MARK} }`);
  expect((await declareByGraphql({ ...need, declaredByEmail: address("nobody") })).errors).toHaveLength(1);
  await logged({ msg: "mail sent" });
  expectSilence();
});

test("of what the database says when it fails", async () => {
  await db().query(
    `
    create function app_private.fail() returns trigger language plpgsql as $$
    begin
      case new.orgname_mark
        when 'raise' then raise exception 'cannot take %', new.need_description using errcode = 'XX000',
          detail = new.need_description, hint = new.need_description;
        when 'cast' then perform new.need_description::integer;
        when 'syntax' then perform to_tsquery(new.need_description || ' ' || new.need_description);
      end case;
      return new;
    end $$;
    create function app_private.fail_later() returns trigger language plpgsql as $$
    begin
      raise exception 'cannot take %', new.recipient using errcode = 'P0001', detail = new.recipient;
    end $$`.replace("new.orgname_mark", "split_part(new.org_name, ' ', 1)"),
  );
  await db().query(
    "create trigger a_failure before insert on app_public.needs for each row execute function app_private.fail()",
  );
  for (const [way, status] of [
    ["raise", 500],
    ["cast", 400],
    ["syntax", 500],
  ] as const) {
    const failing = { ...need, orgName: `${way} ${MARK}` };
    expect((await post("/v0/needs", failing)).status).toBe(status);
    expect((await declareByGraphql(failing)).errors![0]!.extensions["statusCode"]).toBe(status);
  }
  await logged({ msg: "internal_error", ...err({ code: "XX000", at: expect.any(Array) }) });
  await logged({ msg: "internal_error", ...err({ code: "42601" }) });
  await db().query("drop trigger a_failure on app_public.needs");

  await db().query(
    "create trigger a_failure before update on app_private.mails for each row execute function app_private.fail_later()",
  );
  const made = await claim("second");
  await logged({ msg: "a job, or the job runner, failed", task: "send_mails", ...err({ code: "P0001" }) });
  await db().query("drop trigger a_failure on app_private.mails");
  expect(made.status).toBe(200);
  expectSilence();
});

describe("of what a mail server says", () => {
  test.each([
    [550, "the mail server refused a mail"],
    [451, "the mail server refused a mail"],
    [421, "mail postponed: no mail server"],
  ])("with %d", async (code, msg) => {
    smtp.refuse = (_stage, to) => ({ code, text: `<${to}> is not for ${MARK}` });
    await reject((await claim(`third-${code}`)).body.claimId);
    await logged({ msg, ...err({ code: expect.stringContaining(`${code}`) }) });
    smtp.refuse = () => undefined;
    expectSilence();
  });
});

test("of what a mail says that is only kept", async () => {
  await worker.stop();
  // Nor may a worker have had a mail server lately, to which it would be left.
  await db().query("update app_private.mails set sent_at = sent_at - interval '1 hour'");
  worker = await startWorkerWith({});
  try {
    await claim("fourth");
    await logged({ msg: "mail kept: SMTP_URL is not set" });
    expectSilence();
  } finally {
    await worker.stop();
    worker = await startWorkerWith({ SMTP_URL: smtp.url });
  }
});

describe("of what the graph store says", () => {
  // What the worker that was stopped had under way is looked after first, and is another story.
  beforeEach(() =>
    eventually(async () => {
      const { rows } = await db().query(
        `select state from app_private.graph_store where app_private.graph_behind_since() is null
           and not exists (select from app_private.graph_references where synced_revision < revision)`,
      );
      expect(rows).toEqual([{ state: "current" }]);
    }),
  );

  afterEach(() => {
    proxy.mode = "ok";
  });

  test.each([
    ["quote500", { message: "The graph store answered 500" }],
    ["quote400", { message: "The graph store refuses every update", cause: expect.anything() }],
  ] as const)("when it refuses everything: %s", async (mode, refused) => {
    proxy.mode = mode;
    expect((await post("/v0/needs", need)).status).toBe(201);
    await logged({ msg: "the graph cannot be written; changes wait in the database" });
    // Whatever failed first, sooner or later it is an update.
    await logged(err(refused));
    proxy.mode = "ok";
    await logged({ msg: "the graph can be written again" });
    expectSilence();
  });

  test("and of what the load check says", async () => {
    const code = "987651";
    await importPeopleGroups(db(), [{ rop3: "100001", name: MARK }]);
    const { body } = await post("/v0/needs", need);
    // A reference that was right when it was written.
    await db().query("alter table app_public.needs disable trigger user");
    await db().query(
      "update app_public.needs set concerns_people_group_rop3 = array[$2] where need_id = $1",
      [body.needId, code],
    );
    await db().query("alter table app_public.needs enable trigger user");
    await db().query("select app_private.mark_records('need', array[$1::uuid])", [body.needId]);
    await logged({ msg: "the load check refused a record", paths: ["concernsPeopleGroupRop3[0]"] });
    expect(log.filter((line) => line.includes(code))).toEqual([]);
    expectSilence();
  });
});

// Where nothing can be written; other systems have no such file.
const FULL = "/dev/full";

(existsSync(FULL) ? test : test.skip)(
  "a process outlives a log that cannot be written, and ends when it wants to",
  async () => {
    const full = openSync(FULL, "w");
    const program = `
    const { openLog, outliveOutputs } = await import("./process/log.ts");
    const { setImmediate } = await import("node:timers/promises");
    outliveOutputs();
    for (const to of [1, 2]) {
      openLog("info", to).info("a line");
      process.stdout.write("and something else");
      process.stderr.write("and something else");
      await setImmediate();
    }
    process.exit(7);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      cwd: ROOT,
      stdio: ["ignore", full, full],
    });
    try {
      expect(await once(child, "close")).toEqual([7, null]);
    } finally {
      closeSync(full);
      child.kill("SIGKILL");
    }
  },
);

(existsSync(FULL) ? test : test.skip)(
  "a command whose answer cannot be written has failed, though it has a log",
  async () => {
    const full = openSync(FULL, "w");
    const program = `
    const { openLog } = await import("./process/log.ts");
    openLog("warn", 2);
    process.stdout.write("an answer");`;
    const options = ["--input-type=module", "-e", program];
    const child = spawn(process.execPath, options, { cwd: ROOT, stdio: ["ignore", full, "ignore"] });
    try {
      expect(await once(child, "close")).toEqual([1, null]);
    } finally {
      closeSync(full);
      child.kill("SIGKILL");
    }
  },
);

test("nobody waits for a reader of the log that stands still", async () => {
  const program = `
    const { openLog } = await import("./process/log.ts");
    // Whoever looks at it has a pipe refuse what it cannot take.
    process.stdout.write("");
    const logger = openLog("info", 1);
    for (let n = 0; n < 5000; n += 1) logger.info("x".repeat(100));
    process.stderr.write("all logged");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
  });
  try {
    // Its output is not read. Whoever waits for that waits for ever.
    const signal = AbortSignal.timeout(120_000);
    const [said] = (await once(child.stderr, "data", { signal })) as [Buffer];
    expect(said.toString()).toBe("all logged");
  } finally {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
});
