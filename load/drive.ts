// Sends requests at a rate that does not ask whether the service keeps up, and says what came back.
import autocannon from "autocannon";
import { percentile } from "../bench/support.ts";
import { mix } from "./mix.ts";
import type { LoadedService } from "./service.ts";

export type Driven = {
  /** answers a second, by what became of the request */
  perSecond: { answered: number; refused: number };
  /** how many were answered with 429 and 503 */
  refused: Record<string, number>;
  /** how many had another status than 2xx, 429 and 503, and which */
  wrong: Record<string, number>;
  /** no answer at all: connections that broke, and requests that timed out */
  errors: number;
  /** of requests that were answered with 2xx, in milliseconds */
  p50: number;
  p99: number;
};

const REFUSED = [429, 503];
const TIMEOUT_S = 30;

/** @param rate requests a second; undefined: as fast as the answers come */
export async function drive(
  service: Pick<LoadedService, "url" | "keys">,
  { seconds, connections, rate }: { seconds: number; connections: number; rate?: number },
): Promise<Driven> {
  const times: number[] = [];
  const statuses = new Map<number, number>();
  const { errors, duration } = await new Promise<autocannon.Result>((done, failed) => {
    const running = autocannon(
      {
        url: service.url,
        connections,
        duration: seconds,
        timeout: TIMEOUT_S,
        requests: mix().map((request) => withKey(request, service.keys)),
        // What a caller waits is counted here, from sending to answer.
        ...(rate !== undefined && {
          overallRate: Math.max(rate, connections),
          ignoreCoordinatedOmission: true,
        }),
      },
      (error: unknown, result) => (error ? failed(error) : done(result)),
    );
    running.on("response", (_client, status, _bytes, time) => {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status < 300) times.push(time);
    });
  });
  const isRefusal = (status: number) => REFUSED.includes(status);
  const refused = [...statuses].filter(([status]) => isRefusal(status));
  return {
    perSecond: {
      answered: times.length / duration,
      refused: refused.reduce((sum, [, n]) => sum + n, 0) / duration,
    },
    refused: Object.fromEntries(refused),
    wrong: Object.fromEntries([...statuses].filter(([status]) => status >= 300 && !isRefusal(status))),
    errors,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
  };
}

/** Whoever sends it: any of the callers. */
function withKey(request: autocannon.Request, keys: readonly string[]): autocannon.Request {
  const { setupRequest = (given) => given } = request;
  return {
    ...request,
    setupRequest: (given, context) => {
      const made = typeof setupRequest === "function" ? setupRequest(given, context) : given;
      const key = keys[Math.floor(Math.random() * keys.length)]!;
      return { ...made, headers: { ...made.headers, authorization: `Bearer ${key}` } };
    },
  };
}
