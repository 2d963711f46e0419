// Sends requests at a rate that does not ask whether the service keeps up, and says what came back.
import autocannon from "autocannon";
import { percentile } from "../bench/support.ts";
import { mix } from "./mix.ts";
import type { LoadedService } from "./service.ts";

export type Driven = {
  /** answers a second, by what became of the request */
  perSecond: { answered: number; refused: number };
  /** what was answered with 429 and 503: with which code, and what had been asked */
  refused: Record<string, number>;
  /** the same of what had another status than 2xx, 429 and 503 */
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
  const refused: Record<string, number> = {};
  const wrong: Record<string, number> = {};
  const fail: Failed = (status, body, { method = "GET", path = "/" }) => {
    const counts = REFUSED.includes(status) ? refused : wrong;
    const what = `${status} ${codeOf(body)} for ${method} ${path.replace(/[?].*/, "")}`;
    counts[what] = (counts[what] ?? 0) + 1;
  };
  const { errors, duration } = await new Promise<autocannon.Result>((done, failed) => {
    const running = autocannon(
      {
        url: service.url,
        connections,
        duration: seconds,
        timeout: TIMEOUT_S,
        requests: mix().map((request) => watched(withKey(request, service.keys), fail)),
        // What a caller waits is counted here, from sending to answer.
        ...(rate !== undefined && {
          overallRate: Math.max(rate, connections),
          ignoreCoordinatedOmission: true,
        }),
      },
      (error: unknown, result) => (error ? failed(error) : done(result)),
    );
    running.on("response", (_client, status, _bytes, time) => {
      if (status < 300) times.push(time);
    });
  });
  return {
    perSecond: {
      answered: times.length / duration,
      refused: Object.values(refused).reduce((sum, n) => sum + n, 0) / duration,
    },
    refused,
    wrong,
    errors,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
  };
}

type Failed = (status: number, body: string, request: autocannon.Request) => void;

/** At the doors of REST and SPARQL, and at GraphQL's. */
type Refusal = { error?: string; errors?: [{ extensions: { code: string } }] };

function codeOf(body: string): string {
  try {
    const { error, errors } = JSON.parse(body) as Refusal;
    return error ?? errors![0].extensions.code;
  } catch {
    return "without a code";
  }
}

/** Tells what a request became that did not succeed. */
function watched(request: autocannon.Request, fail: Failed): autocannon.Request {
  const { onResponse } = request;
  return {
    ...request,
    onResponse: (status, body, context, headers) => {
      if (status >= 300) fail(status, body, request);
      if (typeof onResponse === "function") onResponse(status, body, context, headers);
    },
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
