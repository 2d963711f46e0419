// One connection a request and one round trip a statement, against PostGraphile's own way.
import { against, fill, inTurns, requestsPerSecond, startBenchDatabase, startChild } from "./support.ts";
import type { Figure } from "./support.ts";

const LIST = "{ needs(first: 20) { nodes { needId status createdAt organization { name } } } }";
const FIELDS = `{ ${Array.from(
  { length: 20 },
  (_, n) => `a${n}: needs(first: ${n + 1}) { nodes { needId status } }`,
).join(" ")} }`;

export async function benchGraphql(): Promise<Figure[]> {
  const database = await startBenchDatabase();
  await fill(database, 1_000);
  await database.owner.query("vacuum analyze");
  const env = { DATABASE_URL: database.serverUrl };
  const [own, stock] = await Promise.all([
    startChild("graphql-app.ts", env),
    startChild("graphql-app.ts", { ...env, STOCK: "1" }),
  ]);
  try {
    const ask = (url: string, query: string) => () =>
      requestsPerSecond({
        url: `${url}/graphql`,
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query }),
      });
    const list = await inTurns(5, { own: ask(own.url, LIST), stock: ask(stock.url, LIST) });
    const fields = await inTurns(5, { own: ask(own.url, FIELDS), stock: ask(stock.url, FIELDS) });
    return [
      {
        subject: "A list of 20 with a linked record, against PostGraphile's own connections",
        measured: against(list.own, list.stock),
        aim: "≥ 1",
      },
      {
        subject: "20 lists in one request, the same",
        measured: against(fields.own, fields.stock),
        aim: "≥ 1",
      },
    ];
  } finally {
    await Promise.all([own.stop(), stock.stop()]);
    await database.stop();
  }
}
