// What HTTP has for answers: validators, packing, where things are, which methods there are, problem details.
import { once } from "node:events";
import { request as send } from "node:http";
import type { IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { allRoutes } from "../server/resources/index.ts";
import { operationsOf } from "./support/openapi.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, contributor, ORG } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const NOWHERE = "00000000-0000-4000-8000-000000000000";
const need = {
  orgUri: ORG,
  orgName: "River Mission",
  declaredByEmail: contributor,
  needDescription: "Audio Scriptures. ".repeat(100).trim(),
  accelerators: ["PRA-INT"],
};
const commitment = {
  orgUri: ORG,
  orgName: "River Mission",
  declaredByEmail: contributor,
  commitmentDescription: "We record them",
  acceleratorScope: ["PRA-INT"],
};
const claim = {
  orgUri: ORG,
  orgName: "River Mission",
  claimedByEmail: contributor,
  engagementAccelerators: ["PRA-INT"],
  countryCode: "KE",
};
const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  call(`${service.url}${path}`, method, service.keys.read, undefined, headers);
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  call(`${service.url}${path}`, "POST", service.keys.write, body, headers);

test.each([
  ["/v0/needs", need, "needId"],
  ["/v0/commitments", commitment, "commitmentId"],
  ["/v0/engagement-claims/submit", claim, "claimId"],
])("POST %s says where to read what it made, also when it is repeated", async (path, body, id) => {
  const headers = { "idempotency-key": path };
  for (const made of [await post(path, body, headers), await post(path, body, headers)]) {
    const location = made.headers.get("location")!;
    expect(made).toMatchObject({ status: 201 });
    expect(made.headers.get("cache-control")).toBe("no-store");
    expect((await get(location)).body).toMatchObject({ ...body, [id]: made.body[id] });
  }
});

describe("a validator", () => {
  test("spares an answer that has not changed, and not one that has", async () => {
    const { body } = await post("/v0/needs", need);
    for (const path of [`/v0/needs/${body.needId}`, "/v0/needs", "/v0/accelerators", "/v0/openapi.json"]) {
      const first = await get(path);
      const etag = first.headers.get("etag")!;
      expect(etag).toMatch(/^W\/"[^"]+"$/);
      expect(first.headers.get("cache-control")).toBe("private, no-cache");
      for (const method of ["GET", "HEAD"]) {
        const lists = [", ", ",", " ,\t"].map((comma) => `"other"${comma}${etag}`);
        for (const known of [etag, etag.slice(2), ...lists, `${etag},"other"`, "*"]) {
          const again = await get(path, { "if-none-match": known }, method);
          expect({ path, known, status: again.status, body: again.body }).toEqual({
            path,
            known,
            status: 304,
            body: "",
          });
          expect(again.headers.get("etag")).toBe(etag);
        }
        expect((await get(path, { "if-none-match": '"other"' }, method)).status).toBe(200);
      }
    }
    const before = (await get(`/v0/needs/${body.needId}`)).headers.get("etag")!;
    await post("/v0/needs/status", { needId: body.needId, status: "met", actorEmail: contributor });
    const after = await get(`/v0/needs/${body.needId}`, { "if-none-match": before });
    expect(after).toMatchObject({ status: 200, body: { status: "met" } });
    expect(after.headers.get("etag")).not.toBe(before);
  });

  test("is of no use to a key that may not read, nor for what is not there", async () => {
    const etag = (await get("/v0/needs")).headers.get("etag")!;
    const strange = await call(`${service.url}/v0/needs`, "GET", undefined, undefined, {
      "if-none-match": etag,
    });
    const absent = await get(`/v0/needs/${NOWHERE}`, { "if-none-match": "*" });
    expect([strange.status, absent.status]).toEqual([401, 404]);
    for (const { headers } of [strange, absent]) {
      expect([headers.get("etag"), headers.get("cache-control")]).toEqual([null, "no-store"]);
    }
  });
});

test("what pages and makers of clients load is asked for again: an upgrade leaves nothing of the version before", async () => {
  for (const path of [
    ...["/docs/openapi.json", "/assets/style.css", "/assets/claims.js", "/assets/claims/hold.js"],
    ...["/assets/modules/@codemirror/view.js", "/graphiql/files/ruru.js"],
  ]) {
    const { status, headers } = await call(`${service.url}${path}`, "GET", undefined);
    const kept = headers.get("cache-control")!.split(", ");
    expect({ path, status, kept }).toEqual({
      ...{ path, status: 200 },
      kept: expect.arrayContaining([expect.stringMatching(/^(no-cache|max-age=0)$/)]),
    });
    expect(kept).not.toContainEqual(expect.stringMatching(/^max-age=[1-9]|^immutable$/));
  }
});

test("what is about persons is kept by nobody, and what differs by caller says so", async () => {
  const personal = new Set<string>(["not_your_identity", "permission_required"]);
  const routes = allRoutes({} as Parameters<typeof allRoutes>[0]).filter(
    ({ method, errors }) => method === "get" && errors.some((code) => personal.has(code)),
  );
  expect(routes.length).toBeGreaterThan(4);
  expect(routes.filter(({ isPersonal }) => !isPersonal).map(({ path }) => path)).toEqual([]);
  for (const [path, key] of [
    [`/v0/orgs/members?orgUri=${ORG}`, service.keys.review],
    [`/v0/onboarding/claims?userEmail=${contributor}`, service.keys.write],
    [`/v0/onboarding/check-user?email=${contributor}`, service.keys.write],
    ["/v0/admin/claims", service.keys.review],
    ["/v0/admin/claims/changes", service.keys.review],
  ] as const) {
    for (const method of ["GET", "HEAD"]) {
      const { status, headers } = await call(`${service.url}${path}`, method, key, undefined, {
        "x-admin-email": admin,
      });
      expect({ path, status, etag: headers.get("etag"), kept: headers.get("cache-control") }).toEqual({
        ...{ path, status: 200, etag: null, kept: "no-store" },
      });
    }
  }
  expect((await get("/v0/needs")).headers.get("vary")).toMatch(/authorization, cookie/i);
});

/** The bytes of an answer as they come, which fetch would unpack. */
function raw(path: string, headers: Record<string, string>, method = "GET") {
  return new Promise<{ encoding: string | undefined; length: number; vary: string; bytes: Buffer }>(
    (done, failed) => {
      const url = `${service.url}${path}`;
      send(
        url,
        { method, headers: { authorization: `Bearer ${service.keys.read}`, ...headers } },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("end", () =>
            done({
              encoding: response.headers["content-encoding"],
              length: Number(response.headers["content-length"]),
              vary: String(response.headers.vary),
              bytes: Buffer.concat(chunks),
            }),
          );
        },
      )
        .on("error", failed)
        .end();
    },
  );
}

describe("an answer is packed", () => {
  test.each([
    ["gzip, deflate, br", "br"],
    ["gzip", "gzip"],
    ["br;q=0.1, gzip;q=0.9", "gzip"],
    ["*", "br"],
    ["deflate", undefined],
    ["br;q=0, gzip;q=0", undefined],
    ["identity, gzip;q=0.5", undefined],
    [undefined, undefined],
  ])("for %j as %j", async (accepted, encoding) => {
    await post("/v0/needs", need);
    const plain = await raw("/v0/needs", {});
    const packed = await raw("/v0/needs", accepted === undefined ? {} : { "accept-encoding": accepted });
    expect(packed.encoding).toBe(encoding);
    expect(packed.vary.toLowerCase()).toContain("accept-encoding");
    const unpack =
      { br: brotliDecompressSync, gzip: gunzipSync }[encoding ?? ""] ?? ((bytes: Buffer) => bytes);
    expect(String(unpack(packed.bytes))).toBe(String(plain.bytes));
    expect(packed.length).toBe(packed.bytes.length);
    if (encoding) expect(packed.length).toBeLessThan(plain.length / 2);
    const head = await raw(
      "/v0/needs",
      accepted === undefined ? {} : { "accept-encoding": accepted },
      "HEAD",
    );
    expect([head.length, head.bytes.length]).toEqual([packed.length, 0]);
  });

  test("unless that would not make it shorter", async () => {
    expect(
      (await raw("/v0/needs?limit=1&countryCode=ZZ", { "accept-encoding": "br" })).encoding,
    ).toBeUndefined();
  });
});

test("OPTIONS says which methods each path supports, and these are those that it supports", async () => {
  const { body } = await get("/v0/openapi.json");
  const byPath = Map.groupBy(operationsOf(body), ({ path }) => path);
  for (const [path, operations] of byPath) {
    const methods = operations.map(({ method }) => method.toUpperCase());
    const expected = [...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"].toSorted();
    const at = path.replaceAll(/\{\w+\}/g, NOWHERE);
    const asked = await call(`${service.url}${at}`, "OPTIONS", undefined);
    expect({ path, status: asked.status, body: asked.body }).toEqual({ path, status: 204, body: "" });
    const allowed = (answer: typeof asked) => answer.headers.get("allow")?.split(", ").toSorted();
    expect({ path, allowed: allowed(asked) }).toEqual({ path, allowed: expected });
    const refused = await call(`${service.url}${at}`, "DELETE", service.keys.review);
    expect({ path, allowed: allowed(refused) }).toEqual({ path, allowed: expected });
  }
  const graphql = await call(`${service.url}/graphql`, "OPTIONS", undefined);
  expect(graphql.headers.get("allow")).toBe("GET, POST, OPTIONS");
  for (const path of ["/v0/nothing", "/v0/needs/", "/v0/Needs/STATUS", "/v0/needs//history"]) {
    const { headers } = await call(`${service.url}${path}`, "OPTIONS", undefined);
    const allow = {
      "/v0/nothing": null,
      "/v0/needs/": "GET, POST, HEAD, OPTIONS",
      "/v0/Needs/STATUS": "POST, OPTIONS",
      "/v0/needs//history": null,
    };
    expect(headers.get("allow")).toBe(allow[path as keyof typeof allow]);
  }
});

describe("problem details", () => {
  const PROBLEM = "application/problem+json";
  const told = async (path: string, accept: string) => {
    const { status, body, headers } = await get(path, { accept });
    return { status, body, type: headers.get("content-type")!.split(";")[0], vary: headers.get("vary") };
  };

  test.each([PROBLEM, `application/json, ${PROBLEM};q=0.5`, `*/*, ${PROBLEM}`, "Application/Problem+JSON"])(
    "for who accepts %s",
    async (accept) => {
      expect(await told(`/v0/needs/${NOWHERE}`, accept)).toEqual({
        status: 404,
        type: PROBLEM,
        vary: expect.stringContaining("accept"),
        body: {
          type: "about:blank",
          title: "Not Found",
          status: 404,
          detail: "There is no need with this needId.",
          error: "need_not_found",
          requestId: expect.any(String),
        },
      });
      expect((await told("/v0/needs?limit=0", accept)).body).toMatchObject({
        error: "validation_failed",
        details: [{ path: "limit", message: "must be at least 1" }],
      });
      expect((await told("/v0/nothing", accept)).type).toBe(PROBLEM);
      expect(await told("/v0/needs", accept)).toMatchObject({ status: 200, type: "application/json" });
    },
  );

  test.each(["*/*", "application/*", `application/json, ${PROBLEM};q=0`])(
    "not for who accepts %s",
    async (accept) => {
      expect(await told(`/v0/needs/${NOWHERE}`, accept)).toMatchObject({
        status: 404,
        type: "application/json",
        body: { error: "need_not_found", statusCode: 404 },
      });
    },
  );
});

describe("a media type is the same in any case", () => {
  const query = "{ __typename }";
  const BODIES: Record<string, [type: string, body: object | string]> = {
    "/v0/needs": ["Application/JSON", need],
    "/graphql": ["Application/JSON", { query }],
    "/graphql/stream": ["APPLICATION/json ; Charset=UTF-8", { query }],
    "/v0/mcp": ["application/Json", { jsonrpc: "2.0", id: 1, method: "ping" }],
    "/v0/sparql": ["Application/SPARQL-Query", "ASK {}"],
  };

  test.each(Object.keys(BODIES))("of what is sent to %s", async (path) => {
    const [type, body] = BODIES[path]!;
    const answer = await post(path, body, { "content-type": type });
    // There is no graph store here, so that a query gets as far as nobody's answer.
    const statuses: Record<string, number> = { "/v0/needs": 201, "/v0/sparql": 503 };
    expect(answer.status).toBe(statuses[path] ?? 200);
  });

  test.each<[string, string, string]>([
    ["/graphql?query={__typename}", "Application/GraphQL-Response+JSON", "application/graphql-response+json"],
    ["/v0/needs", "APPLICATION/JSON", "application/json"],
    ["/v0/needs/nowhere", "Text/HTML, Application/Problem+Json", "application/problem+json"],
  ])("of what is asked for: %s as %s", async (path, accept, type) => {
    const { headers } = await get(path, { accept });
    expect(headers.get("content-type")?.split(";")[0]).toBe(type);
  });

  test("of what is asked for in a stream", async () => {
    const answer = await post("/graphql", { query }, { accept: "Text/Event-Stream" });
    expect(answer.headers.get("content-type")).toContain("text/event-stream");
    // A proxy is neither to hold events back nor to pack them, and there is no coding by the name of "none".
    const names = ["x-accel-buffering", "cache-control", "content-encoding"];
    expect(names.map((name) => answer.headers.get(name))).toEqual(["no", "no-cache, no-transform", null]);
  });

  test.each(["/graphql", "/graphql/stream"])("another one is refused by %s with a code", async (path) => {
    for (const type of ["Text/Plain", "Application/GraphQL", "application/jsonp", "application/json, x/y"]) {
      const { status, body } = await post(path, { query }, { "content-type": type });
      const extensions = expect.objectContaining({ code: "unsupported_media_type" });
      expect([type, status, body]).toEqual([
        type,
        415,
        { errors: [{ message: "Send the body as application/json.", extensions }] },
      ]);
    }
    for (const type of [
      "application/json; x",
      "application/json ; a=b",
      'application/json;a="b;c"',
      "application/json\t;a=b",
    ]) {
      const { status } = await post(path, { query }, { "content-type": type });
      expect([type, status]).toEqual([type, 200]);
    }
  });

  test("as the name of an encoding is", async () => {
    const headers = { "content-type": "application/sparql-query", "content-encoding": "Identity" };
    expect((await post("/v0/sparql", "ASK {}", headers)).body.error).toBe("graph_unavailable");
  });
});

test("a file of the pages is answered as a whole to who asks for a part; a folder is none", async () => {
  for (const path of ["/assets/style.css", "/graphiql/files/ruru.js"]) {
    for (const range of ["bytes=0-1", "bytes=99999999-"]) {
      const headers = { range, "accept-encoding": "gzip" };
      const answer = await call(`${service.url}${path}`, "GET", undefined, undefined, headers);
      expect([path, range, answer.status]).toEqual([path, range, 200]);
      expect(answer.headers.get("accept-ranges")).toBeNull();
    }
  }
  expect((await fetch(`${service.url}/assets`, { redirect: "manual" })).status).toBe(404);
});

describe("what is sent is named", () => {
  test.each([
    ["null", "The body must be a JSON object with the fields of this request, not null."],
    ["[]", "The body must be a JSON object with the fields of this request, not a list."],
    ["[{}]", "The body must be a JSON object with the fields of this request, not a list."],
    ['"text"', "The body must be a JSON object with the fields of this request, not a string."],
    ["7", "The body must be a JSON object with the fields of this request, not a number."],
    ["", "The body is empty; send a JSON object with the fields of this request."],
    ["{", "The body is not well-formed JSON."],
  ])("a body of %j", async (body, message) => {
    for (const path of ["/v0/needs", "/v0/needs/status", "/v0/onboarding/check-user"]) {
      expect(await post(path, body)).toMatchObject({
        status: 400,
        body: { error: "validation_failed", message },
      });
    }
  });

  test("a body in pieces, whose length nobody has said, is a body, unless there is nothing in it", async () => {
    const inPieces = async (text: string) => {
      const headers = {
        ...{ authorization: `Bearer ${service.keys.write}`, "content-type": "application/json" },
        "transfer-encoding": "chunked",
      };
      const asked = send(`${service.url}/v0/needs`, { method: "POST", headers });
      asked.end(text);
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      return { status: answer.statusCode, body: (await json(answer)) as object };
    };
    expect(await inPieces(JSON.stringify(need))).toMatchObject({ status: 201, body: { status: "open" } });
    expect(await inPieces("")).toMatchObject({
      status: 400,
      body: { message: "The body is empty; send a JSON object with the fields of this request." },
    });
  });

  test.each([
    ["/v0/needs", "validation_failed"],
    ["/v0/sparql", "validation_failed"],
    ["/graphql", "validation_failed"],
  ])(
    "JSON that is nested too deeply is refused by %s before anybody walks through it",
    async (path, code) => {
      const at = async (levels: number) => {
        // Brackets in a text are none, whatever stands before its quotation marks.
        const text = JSON.stringify(`${"[{".repeat(200)}\\"[[`);
        const deep = `{"x": [${text}], "y": ${"[".repeat(levels)}${"]".repeat(levels)}}`;
        const { body } = await post(
          path,
          path === "/graphql" ? `{"query": "{ __typename }", "variables": ${deep}}` : deep,
        );
        const [error = body as { message: string }] =
          (body as { errors?: { message: string }[] }).errors ?? [];
        return { code: (body as { error?: string }).error ?? code, message: error?.message };
      };
      const refused = { code, message: "The body is nested too deeply; 100 levels are the most." };
      const around = path === "/graphql" ? 2 : 1;
      expect(await at(101 - around)).toEqual(refused);
      expect(await at(20_000)).toEqual(refused);
      expect(await at(100 - around)).not.toEqual(refused);
    },
  );

  test.each(["/v0/needs", "/v0/sparql", "/graphql"])(
    "JSON of more than 5,000 values is refused by %s before any of it is kept, and commas in a text are none",
    async (path) => {
      // Each list counts once, whether or not there is anything in it.
      const at = async (values: number) => {
        const given = `{"x": "${"[{,".repeat(2_000)}", "y": [[]${",[]".repeat((values - 4) / 2)}]}`;
        const body = path === "/graphql" ? `{"query": "{ __typename }", "variables": ${given}}` : given;
        return JSON.stringify((await post(path, body)).body).includes(
          "The body has too many values; 5000 are the most.",
        );
      };
      // Those around it.
      const around = path === "/graphql" ? 2 : 0;
      expect([await at(5_000 - around), await at(5_002 - around)]).toEqual([false, true]);
    },
  );

  test("no body at all", async () => {
    expect(await post("/v0/needs", undefined)).toMatchObject({
      status: 400,
      body: { message: "The body is empty; send a JSON object with the fields of this request." },
    });
  });

  test.each([
    ["offset=1e30", "offset must be at most 2147483647."],
    ["offset=2147483648", "offset must be at most 2147483647."],
    ["offset=-1e30", "offset must be at least 0."],
    ["offset=1.5", "offset must be an integer."],
    ["limit=99999999999999999999", "limit must be at most 200."],
    ["limit=ten", "limit must be an integer."],
  ])("%s", async (query, message) => {
    for (const [path, key] of [
      ["needs", "read"],
      ["commitments", "read"],
      ["organizations", "read"],
      ["admin/users", "review"],
      ["admin/claims", "review"],
    ] as const) {
      const answer = await call(`${service.url}/v0/${path}?${query}`, "GET", service.keys[key], undefined, {
        "x-admin-email": contributor,
      });
      expect({ path, ...answer }).toMatchObject({ path, status: 400, body: { message } });
    }
    const most = await get("/v0/needs?offset=2147483647");
    expect(most).toMatchObject({ status: 200, body: { needs: [] } });
  });

  test("a header section that is too long", async () => {
    const answer = await get("/v0/needs", { "x-long": "x".repeat(200_000) });
    expect(answer).toMatchObject({ status: 431, body: { error: "headers_too_large", statusCode: 431 } });
  });

  test("a header that is longer than anybody needs, unread, but for a token", async () => {
    const long = (name: string, first: string, length = 8_192) => ({
      [name]: first + ",a/b".repeat(length).slice(0, length - first.length),
    });
    for (const [name, first] of [
      ["accept", "application/json"],
      ["accept-encoding", "gzip"],
      ["cookie", "a=b;"],
      ["if-none-match", '"a"'],
      ["x-forwarded-for", "::1"],
      ["x-whatever", ""],
    ] as const) {
      const answered = await get("/v0/needs", long(name, first));
      expect({ name, status: answered.status }).toEqual({ name, status: 200 });
      const refused = await get("/v0/needs", long(name, first, 8_193));
      expect({ name, ...refused }).toMatchObject({
        ...{ name, status: 431 },
        body: { error: "headers_too_large", message: `The header ${name} has more than 8192 characters.` },
      });
    }
    // Whatever of it nobody would read.
    const accept = "application/json; charset=utf-8,".repeat(300);
    expect((await get("/v0/needs", { accept })).status).toBe(431);
    const asProblem = long("accept", "application/problem+json", 8_193);
    // Nor is a second one.
    for (const headers of [asProblem, { ...long("a-first", "", 8_193), ...asProblem }]) {
      const answered = await get("/v0/needs", headers);
      expect(answered.headers.get("content-type")).toBe("application/json; charset=utf-8");
    }
    const name = "n".repeat(20_000);
    expect(await get("/v0/needs", { [name]: "x".repeat(8_193) })).toMatchObject({
      body: { message: `The header ${name.slice(0, 100)} has more than 8192 characters.` },
    });
    const token = await get("/v0/needs", long("authorization", "Bearer a.b.c", 20_000));
    expect(token).toMatchObject({ status: 401, body: { error: "invalid_token" } });
  });

  test.each([
    ["Host", "other.example"],
    ["Authorization", "Bearer a.b.c"],
    ["Idempotency-Key", "one"],
  ])("two headers %s, of which a proxy may choose another", async (name, another) => {
    const { hostname, port } = new URL(service.url);
    const headers = [
      ...["host", hostname],
      ...["authorization", `Bearer ${service.keys.read}`, "idempotency-key", "one"],
      ...[name.toLowerCase(), another],
    ];
    const request = send({ hostname, port, path: "/v0/needs", headers }).end();
    const [answer] = (await once(request, "response")) as [IncomingMessage];
    expect(answer.statusCode).toBe(400);
    expect(await json(answer)).toMatchObject({
      ...{ error: "validation_failed", message: `The header ${name} is given more than once.` },
    });
  });

  test("a church that is not there", async () => {
    expect(await get("/v0/orgs/no-such-church")).toMatchObject({
      status: 404,
      body: { error: "church_not_found" },
    });
  });
});
