// Sends requests at a fixed rate, whether or not the service keeps up, and counts the answers.
import autocannon from "autocannon";
import { percentile } from "../bench/support.ts";
import { mix } from "./mix.ts";
import type { LoadedService } from "./service.ts";

export type Driven = {
  /** answers per second, by outcome */
  perSecond: { answered: number; refused: number };
  /** requests answered with 429 or 503, by error code and path */
  refused: Record<string, number>;
  /** the same for any other status than 2xx */
  wrong: Record<string, number>;
  /** no answer at all: connections that broke, and requests that timed out */
  errors: number;
  /** latency of requests that were answered with 2xx, in milliseconds */
  p50: number;
  p99: number;
};

const REFUSED = [429, 503];
const TIMEOUT_S = 30;

/** @param rate requests per second; undefined: as fast as the answers come */
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
        // Latency is measured here, from sending to answer.
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

/** The body of a refusal: `error` from REST and SPARQL, `errors` from GraphQL. */
type Refusal = { error?: string; errors?: [{ extensions: { code: string } }] };

function codeOf(body: string): string {
  try {
    const { error, errors } = JSON.parse(body) as Refusal;
    return error ?? errors![0].extensions.code;
  } catch {
    return "without a code";
  }
}

/** Reports requests that did not succeed. */
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

/** Sends each request with the key of a random caller. */
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
