// The cost of sharing the rate limit among all processes: the same requests with the limit and without.
import { issueTestKey } from "../test/support/database.ts";
import { inTurns, requestsPerSecond, round, startBenchDatabase, startChild } from "./support.ts";
import type { BenchDatabase, Figure } from "./support.ts";

const ROUNDS = 9;

export async function benchLimits(): Promise<Figure[]> {
  const database = await startBenchDatabase();
  const [limited, unlimited] = await Promise.all(
    ["yes", "no"].map((LIMITED) => startChild("limited.ts", { DATABASE_URL: database.serverUrl, LIMITED })),
  );
  const measure = async (subject: string, aim: string, keys: readonly string[]): Promise<Figure> => {
    const ask = (url: string) => () =>
      requestsPerSecond({
        url: `${url}/v0/accelerators`,
        requests: keys.map((key) => ({ headers: { authorization: `Bearer ${key}` } })),
      });
    const rates = await inTurns(ROUNDS, { limited: ask(limited!.url), unlimited: ask(unlimited!.url) });
    return {
      subject: `GET /v0/accelerators by ${subject}, with the rate limit against without`,
      measured: `${round(rates.limited / rates.unlimited)} (${round(rates.limited)} against ${round(rates.unlimited)} requests/s)`,
      aim,
    };
  };
  try {
    return [
      await measure("one key", "≥ 0.95", await issue(database, 1, 400_000)),
      // With the default limit, the database is asked at least for every tenth request: a
      // twentieth of the limit at a time.
      await measure("1,000 keys of 200 a minute", "–", await issue(database, 1_000, 200)),
    ];
  } finally {
    await Promise.all([limited!.stop(), unlimited!.stop()]);
    await database.stop();
  }
}

async function issue({ owner }: BenchDatabase, count: number, ratePerMinute: number): Promise<string[]> {
  const keys: string[] = [];
  for (let i = 0; i < count; i++) keys.push(await issueTestKey(owner, "api_read", { ratePerMinute }));
  return keys;
}
