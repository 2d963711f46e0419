// The baseline for church search over HTTP: an Express route as one would write it by hand, running the same
// SQL, without key, validation or error handling.
import type { AddressInfo } from "node:net";
import express from "express";
import { createPool } from "../db/pool.ts";

const pool = createPool(process.env["DATABASE_URL"]!, { max: 20 });
const app = express();
app.get("/v0/orgs/search", async (request, response) => {
  const query = Object.fromEntries(
    Object.entries(request.query).map(([name, value]) => [name, Number(value)]),
  );
  const { rows } = await pool.query<{ answer: string }>({
    name: "run_as",
    text: "select app_private.run_as('api_read', 'select app_private.church_page($1)', $1) as answer",
    values: [JSON.stringify(query)],
  });
  response.type("json").send(rows[0]!.answer);
});
const server = app.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.once("SIGTERM", () => process.exit(0));
