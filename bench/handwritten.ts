// The yardstick of the REST figures: an Express route as one would write it by hand, running the same SQL, with neither
// key nor validation nor error handling.
import type { AddressInfo } from "node:net";
import express from "express";
import { createPool } from "../db/pool.ts";
import { needRoutes } from "../server/resources/needs.ts";
import { listStatement } from "../server/rest/list.ts";

const pool = createPool(process.env["DATABASE_URL"]!, { max: 20 });
const routeOf = (operationId: string) => needRoutes.find((route) => route.operationId === operationId)!;
const { statement } = routeOf("declareNeed");
const declare = typeof statement === "function" ? statement({}) : statement!;
const list = listStatement(routeOf("listNeeds").list!, {});
const run = async (statement: string, input: unknown) => {
  const { rows } = await pool.query<{ answer: string }>({
    name: "run_as",
    text: "select app_private.run_as('api_write', $1, $2) as answer",
    values: [statement, JSON.stringify(input)],
  });
  return rows[0]!.answer;
};

const app = express();
app.post("/v0/needs", express.json(), async (request, response) => {
  response
    .status(201)
    .type("json")
    .send(await run(declare, request.body));
});
app.get("/v0/needs", async (request, response) => {
  const answer = await run(list, { limit: Number(request.query["limit"] ?? 50), offset: 0 });
  // What precedes it is for a link, which nobody would write by hand.
  response.type("json").send(answer.slice(answer.indexOf("\n") + 1));
});
const server = app.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.once("SIGTERM", () => process.exit(0));
