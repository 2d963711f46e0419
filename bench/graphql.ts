// One connection per request and one round trip per statement, against PostGraphile's own
// way and against SQL by hand.
import { against, fill, inTurns, requestsPerSecond, startBenchDatabase, startChild } from "./support.ts";
import type { Figure } from "./support.ts";

const LIST = "{ needs(first: 20) { nodes { needId status createdAt organization { name } } } }";
const FIELDS = `{ ${Array.from(
  { length: 20 },
  (_, n) => `a${n}: needs(first: ${n + 1}) { nodes { needId status } }`,
).join(" ")} }`;

// The heaviest of those that docs/graphql.md shows under "What dashboards ask".
const RATE = `{
  statusChanges(filter: { toStatus: { in: [fulfilled, partially_fulfilled, abandoned, expired] } }) {
    groupedAggregates(groupBy: [ACCELERATORS, CHANGED_AT_TRUNCATED_TO_MONTH], orderBy: OLDEST) {
      group { accelerator { prefLabel } changedAtTruncatedToMonth }
      count
      rate: share(toStatus: [fulfilled, partially_fulfilled])
    }
  }
}`;

export async function benchGraphql(): Promise<Figure[]> {
  const database = await startBenchDatabase();
  await fill(database, 1_000, 3);
  await database.owner.query(
    `update app_public.commitments
     set status = (case when n % 2 = 0 then 'fulfilled' else 'abandoned' end)::app_public.commitment_status
     from (select commitment_id, row_number() over () as n from app_public.commitments) as c
     where commitments.commitment_id = c.commitment_id and n % 3 = 0`,
  );
  await database.owner.query("vacuum analyze");
  const env = { DATABASE_URL: database.serverUrl };
  const [own, stock, handwritten] = await Promise.all([
    startChild("graphql-app.ts", env),
    startChild("graphql-app.ts", { ...env, STOCK: "1" }),
    startChild("graphql-handwritten.ts", { DATABASE_URL: database.url }),
  ]);
  try {
    const ask =
      (url: string, query: string, path = "graphql") =>
      () =>
        requestsPerSecond({
          url: `${url}/${path}`,
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ query }),
        });
    const list = await inTurns(5, { own: ask(own.url, LIST), stock: ask(stock.url, LIST) });
    const fields = await inTurns(5, { own: ask(own.url, FIELDS), stock: ask(stock.url, FIELDS) });
    const byHand = await inTurns(5, {
      own: ask(own.url, LIST),
      handwritten: ask(handwritten.url, LIST, "list"),
    });
    const rate = await inTurns(5, {
      own: ask(own.url, RATE),
      handwritten: ask(handwritten.url, RATE, "rate"),
    });
    return [
      {
        subject: "A list of 20 with a linked record, against one SQL statement by hand",
        measured: against(byHand.own, byHand.handwritten),
        aim: "≥ 0.8",
      },
      {
        subject: "The fulfilment rate by accelerator and month, the same",
        measured: against(rate.own, rate.handwritten),
        aim: "≥ 0.8",
      },
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
    await Promise.all([own.stop(), stock.stop(), handwritten.stop()]);
    await database.stop();
  }
}
