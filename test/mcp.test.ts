// The tool endpoint: church search for the SDK's clients of both eras and for curl. What it refuses is in
// mcp-refusals.test.ts.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import packageJson from "../package.json" with { type: "json" };
import { churchQuery } from "../server/resources/church-schemas.ts";
import { randomNumbers, insertChurches } from "./support/churches.ts";
import { churchSearch } from "./support/church-search.ts";
import type { Page } from "./support/church-search.ts";
import { MODERN_META, modernHeaders, post, TOOL, toolCall } from "./support/mcp.ts";
import { refusal } from "./support/graphql.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
const { search, graphql } = churchSearch(() => service);

beforeAll(async () => {
  service = await startTestService();
  const random = randomNumbers(11);
  const churches = Array.from({ length: 400 }, (_, i) => ({
    church_id: `c${String(i).padStart(3, "0")}`,
    latitude: 32 + random() * 2,
    longitude: -118 + random() * 2,
    locality: random() < 0.5 ? "El Cajon" : "San Diego",
    region: "CA",
    country: "US",
    belief_type: random() < 0.5 ? "protestant" : "orthodox",
    service_languages: random() < 0.5 ? ["Spanish"] : ["English"],
  }));
  await insertChurches(service.database.owner, churches);
});
afterAll(() => service.stop());

/** The page that the tool returns, which must be the same as text and as structured content. */
async function found(queryParams: Record<string, unknown>): Promise<Page> {
  const { status, body } = await post(service, toolCall(queryParams));
  expect({ status, error: body.error, isError: body.result?.isError }).toEqual({ status: 200 });
  expect(body.result.content).toHaveLength(1);
  expect(JSON.parse(body.result.content[0].text)).toEqual(body.result.structuredContent);
  return body.result.structuredContent as Page;
}

describe("the three ways to search", () => {
  const ways: [string, Record<string, string | number>, string][] = [
    [
      "belief, locality and region",
      { belief: "protestant", locality: "El Cajon", region: "CA", limit: 50 },
      'belief: [protestant], locality: "El Cajon", region: "CA", limit: 50',
    ],
    [
      "radius",
      { center_lat: 32.7948, center_lng: -116.9625, radius_km: 40, limit: 50 },
      "centerLat: 32.7948, centerLng: -116.9625, radiusKm: 40, limit: 50",
    ],
    [
      "box",
      { min_lat: 32.5, max_lat: 33.1, min_lng: -117.3, max_lng: -116.8, limit: 50 },
      "minLat: 32.5, maxLat: 33.1, minLng: -117.3, maxLng: -116.8, limit: 50",
    ],
  ];

  test.each(ways)("%s finds the same rows through MCP, REST and GraphQL", async (_name, query, args) => {
    const page = await found(query);
    expect(page.items.length).toBeGreaterThan(10);
    expect(page).toEqual((await search(query)).body);
    const rows = (await graphql(args, "church { churchId }")) as { church: { churchId: string } }[];
    expect(page.items.map((item) => item.church_id)).toEqual(rows.map((row) => row.church.churchId));
  });
});

test("a list may be given as one value, as in a URL, or as several", async () => {
  const one = await found({ belief: "orthodox", languages: "spanish", limit: 400, fields: "church_id" });
  expect(one).toEqual(
    await found({ belief: ["orthodox"], languages: ["spanish"], limit: 400, fields: "church_id" }),
  );
  const both = await found({ belief: ["orthodox", "protestant"], limit: 400, fields: "church_id" });
  expect(both.items).toHaveLength(400);
});

test("the cursor of one call leads to the next page", async () => {
  const query = { center_lat: 32.7948, center_lng: -116.9625, radius_km: 40, fields: "church_id" };
  const all = await found({ ...query, limit: 30 });
  const first = await found({ ...query, limit: 15 });
  const second = await found({ ...query, limit: 15, cursor: first.next_cursor });
  expect([...first.items, ...second.items]).toEqual(all.items);
});

test("what is written of a church stands in the answer as it is", async () => {
  const name = '$& $1 $\' $` $$ \\u0041 "quoted"';
  await insertChurches(service.database.owner, [{ church_id: "dollars", name }]);
  try {
    const { items } = await found({ id: "dollars" });
    expect(items).toMatchObject([{ church_id: "dollars", name }]);
  } finally {
    await service.database.owner.query("delete from app_public.churches where church_id = 'dollars'");
  }
});

test("GeoJSON is the same as through REST", async () => {
  const query = { format: "geojson", limit: 3, fields: "name" };
  expect(await found(query)).toEqual((await search(query)).body);
});

test("the tool says what it is, and takes what the search route takes", async () => {
  const { body } = await post(service, { jsonrpc: "2.0", id: "list", method: "tools/list" });
  const [tool, ...others] = body.result.tools;
  expect(others).toEqual([]);
  expect(tool).toMatchObject({
    name: TOOL,
    annotations: {
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    inputSchema: { type: "object", required: ["queryParams"], additionalProperties: false },
    outputSchema: { type: "object" },
  });
  const { queryParams } = tool.inputSchema.properties;
  expect(queryParams.additionalProperties).toBe(false);
  expect(Object.keys(queryParams.properties)).toEqual(Object.keys(churchQuery.shape));
  const undescribed = Object.values<{ description?: string }>(queryParams.properties).filter(
    (property) => !property.description,
  );
  expect(undescribed).toEqual([]);
  // One value counts as a list of one, and a list has its bound.
  expect(queryParams.properties.languages).toMatchObject({
    anyOf: [
      { type: "string", maxLength: 200 },
      { type: "array", maxItems: 100 },
    ],
  });
  expect(queryParams.properties.languages).not.toHaveProperty("type");
  // The examples in the description are calls that work.
  const examples = [...tool.description.matchAll(/\{"queryParams": .*?\}\}/g)].map(([text]) => text);
  expect(examples).toHaveLength(3);
  for (const example of examples) await found(JSON.parse(example).queryParams);
});

test("the list of tools may be kept for an hour", async () => {
  const list = { jsonrpc: "2.0", id: "list", method: "tools/list", params: { _meta: MODERN_META } };
  const { body } = await post(service, list, modernHeaders("tools/list"));
  expect(body.result).toMatchObject({ ttlMs: 3_600_000, cacheScope: "public" });
});

test("whoever asks is told what answers, in each revision: which version, and that nothing changes by itself", async () => {
  const clientInfo = { name: "test", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const legacy = await post(service, { jsonrpc: "2.0", id: 1, method: "initialize", params });
  const discover = { jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta: MODERN_META } };
  const modern = await post(service, discover, modernHeaders("server/discover"));
  const server = { name: "engagement-graph", title: "Engagement Graph", version: packageJson.version };
  const told = {
    capabilities: { tools: { listChanged: false } },
    instructions: expect.stringMatching(new RegExp(`^${TOOL} searches .*Nothing can be changed`)),
  };
  expect(legacy.body.result).toEqual({ ...told, protocolVersion: "2025-11-25", serverInfo: server });
  expect(modern.body.result).toEqual({
    ...{ ...told, resultType: "complete", supportedVersions: ["2026-07-28"] },
    ...{ ttlMs: 3_600_000, cacheScope: "public" },
    _meta: { "io.modelcontextprotocol/serverInfo": server },
  });
});

test("any page may call where any origin may", async () => {
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  expect((await post(service, ping, { origin: "https://elsewhere.example" })).status).toBe(200);
});

describe("the SDK's client", () => {
  const modes = [
    ["of the 2025 revisions", "legacy", "2025-11-25"],
    ["that asks which revision to speak", "auto", "2026-07-28"],
    ["of revision 2026-07-28", { pin: "2026-07-28" }, "2026-07-28"],
  ] as const;

  test.each(modes)("%s lists and calls the tool", async (_name, mode, version) => {
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    const transport = new StreamableHTTPClientTransport(new URL(`${service.url}/v0/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${service.keys.read}` } },
    });
    await client.connect(transport);
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    expect(client.getServerVersion()?.name).toBe("engagement-graph");
    expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual([TOOL]);
    if (mode === "legacy") expect(await client.ping()).toEqual({});

    // Once the tools are listed, the client checks structured content against the output schema.
    const query = { center_lat: 32.7948, center_lng: -116.9625, radius_km: 40 };
    for (const format of ["json", "geojson"]) {
      const { structuredContent, isError, content } = await client.callTool({
        name: TOOL,
        arguments: { queryParams: { ...query, format } },
      });
      expect({ isError, content }).toEqual({ content });
      expect(structuredContent).toEqual((await search({ ...query, format })).body);
    }
    const refused = await client.callTool({ name: TOOL, arguments: { queryParams: { radius_km: 5 } } });
    expect(refused.isError).toBe(true);
    await client.close();
  });

  test("can put the key in the URL", async () => {
    const client = new Client({ name: "test", version: "1" });
    const url = new URL(`${service.url}/v0/mcp?apiKey=${service.keys.read}`);
    await client.connect(new StreamableHTTPClientTransport(url));
    expect((await client.listTools()).tools).toHaveLength(1);
    await client.close();
  });
});

test("curl needs a content type and nothing else, and gets plain JSON", async () => {
  const ping = await call(
    `${service.url}/v0/mcp?apiKey=${service.keys.read}`,
    "POST",
    undefined,
    { jsonrpc: "2.0", id: 7, method: "ping" },
    { accept: "*/*" },
  );
  expect(ping.headers.get("content-type")).toMatch(/^application\/json/);
  expect(ping.body).toEqual({ jsonrpc: "2.0", id: 7, result: {} });
  expect((await found({ limit: 1 })).items).toHaveLength(1);
});

test("a message of revision 2026-07-28 gets plain JSON as well", async () => {
  const { status, headers, body } = await post(
    service,
    toolCall({ limit: 1 }, { _meta: MODERN_META }),
    modernHeaders("tools/call", TOOL),
  );
  expect([status, headers.get("content-type")]).toEqual([200, expect.stringMatching(/^application\/json/)]);
  expect(body.result.structuredContent.items).toHaveLength(1);
});

test("each revision of 2025 is spoken with those that ask for it", async () => {
  for (const protocolVersion of ["2025-03-26", "2025-06-18", "2025-11-25"]) {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const { body } = await post(service, { jsonrpc: "2.0", id: 1, method: "initialize", params });
    expect(body.result.protocolVersion).toBe(protocolVersion);
  }
});

describe("a read-only key", () => {
  test("searches through every door", async () => {
    expect((await found({ limit: 1 })).items).toHaveLength(1);
    expect((await search({ limit: 1 })).status).toBe(200);
    expect(await graphql("limit: 1", "church { churchId }")).toHaveLength(1);
  });

  test("writes through none", async () => {
    const need = {
      orgUri: "https://data.example.org/org/any",
      orgName: "Any",
      declaredByEmail: "any@example.org",
      needDescription: "Any",
      accelerators: ["PRA-INT"],
    };
    const { read } = service.keys;
    const rest = await call(`${service.url}/v0/needs`, "POST", read, need);
    expect([rest.status, rest.body.error]).toEqual([403, "insufficient_scope"]);

    const declareNeed =
      "mutation ($input: DeclareNeedInput!) { declareNeed(input: $input) { clientMutationId } }";
    expect(await refusal(service, declareNeed, { input: need })).toEqual(["insufficient_scope", 403]);

    const sparql = await fetch(`${service.url}/v0/sparql`, {
      method: "POST",
      headers: { authorization: `Bearer ${read}`, "content-type": "application/sparql-query" },
      body: "insert data { <urn:a> <urn:b> <urn:c> }",
    });
    expect([sparql.status, ((await sparql.json()) as { error: string }).error]).toEqual([403, "read_only"]);
  });

  test("finds no tool that writes", async () => {
    for (const name of ["declareNeed", "needs_create_v1", "churches_update_v1"]) {
      const { body } = await post(service, {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name, arguments: {} },
      });
      expect(body.error.code).toBe(-32602);
    }
  });

  test("may be in the URL at this endpoint only", async () => {
    const { read } = service.keys;
    for (const path of ["/v0/orgs/search", "/v0/needs", "/v0/mcp/other"]) {
      const { status, body } = await call(`${service.url}${path}?apiKey=${read}`, "GET", undefined);
      expect([path, status, body.error]).toEqual([path, 401, "missing_api_key"]);
    }
  });
});
