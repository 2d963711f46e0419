// The baselines for the REST figures: an Express route as one would write it by hand, running the
// same SQL, without key, validation or error handling; and the same on node:http alone (BARE=1),
// without a framework's share.
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import express from "express";
import { createPool } from "../db/pool.ts";
import { need } from "../records/need.ts";
import { needRoutes } from "../server/resources/needs.ts";
import { listStatement } from "../server/rest/list.ts";
import { createStatement } from "../server/rest/records.ts";

const pool = createPool(process.env["DATABASE_URL"]!, { max: 20 });
const routeOf = (operationId: string) => needRoutes.find((route) => route.operationId === operationId)!;
const declare = (input: Record<string, unknown>) => run(createStatement(need, input), input);
const list = listStatement(routeOf("listNeeds").list!, {});
const run = async (statement: string, input: unknown) => {
  const { rows } = await pool.query<{ answer: string }>({
    name: "run_as",
    text: "select app_private.run_as('api_write', $1, $2) as answer",
    values: [statement, JSON.stringify(input)],
  });
  return rows[0]!.answer;
};

const page = async (limit: string | null) => {
  const answer = await run(list, { limit: Number(limit ?? 50), offset: 0 });
  // The first line is for a link, which a hand-written route would not have.
  return answer.slice(answer.indexOf("\n") + 1);
};

const app = express();
app.post("/v0/needs", express.json(), async (request, response) => {
  response
    .status(201)
    .type("json")
    .send(await declare(request.body as Record<string, unknown>));
});
app.get("/v0/needs", async (request, response) => {
  response.type("json").send(await page((request.query["limit"] as string | undefined) ?? null));
});

const bare: RequestListener = (request, response) => {
  const send = (status: number, body: string) =>
    response
      .writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
      .end(body);
  if (request.method === "POST")
    void json(request).then(async (input) => send(201, await declare(input as Record<string, unknown>)));
  else
    void page(new URL(request.url!, "http://localhost").searchParams.get("limit")).then((body) =>
      send(200, body),
    );
};
const server = createServer(process.env["BARE"] ? bare : app).listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.once("SIGTERM", () => process.exit(0));
