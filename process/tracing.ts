// OpenTelemetry traces: request, statement, job. Off unless OTEL_EXPORTER_OTLP_ENDPOINT is set, and then nothing of it is
// loaded but the interface. A span says what the service itself knows, like a line of the log; statements are shown as
// they are written here, with places in the place of values.
import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { Attributes, Span, Tracer } from "@opentelemetry/api";
import type { RequestHandler } from "express";
import type { TaskList } from "graphile-worker";
import type pg from "pg";

let tracer: Tracer | undefined;

/** Whether spans are made. */
export function isTracing(): boolean {
  return tracer !== undefined;
}

/**
 * Begins to make spans and to send them, if the environment says where.
 * @param part what the process is called, unless OTEL_SERVICE_NAME calls it otherwise
 * @param env the libraries' own variables: OTEL_EXPORTER_OTLP_*, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER(_ARG), OTEL_BSP_SCHEDULE_DELAY, OTEL_SDK_DISABLED
 * @returns sends what is left, and ends
 */
export async function startTracing(
  part: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<() => Promise<void>> {
  const url = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] || env["OTEL_EXPORTER_OTLP_ENDPOINT"];
  if (!url || env["OTEL_SDK_DISABLED"] === "true" || tracer) return () => Promise.resolve();
  const [
    sdk,
    resources,
    { OTLPTraceExporter },
    { AsyncLocalStorageContextManager },
    { W3CTraceContextPropagator },
  ] = await Promise.all([
    import("@opentelemetry/sdk-trace"),
    import("@opentelemetry/resources"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/context-async-hooks"),
    import("@opentelemetry/core"),
  ]);
  const share = Number(env["OTEL_TRACES_SAMPLER_ARG"] ?? 1);
  const scheduledDelayMillis = Number(env["OTEL_BSP_SCHEDULE_DELAY"] || 5_000);
  const samplers: Readonly<Record<string, InstanceType<typeof sdk.TraceIdRatioBasedSampler>>> = {
    always_on: new sdk.TraceIdRatioBasedSampler(1),
    always_off: new sdk.TraceIdRatioBasedSampler(0),
    traceidratio: new sdk.TraceIdRatioBasedSampler(share),
  };
  const [, isByParent, name = ""] = /^(parentbased_)?(\w+)$/.exec(env["OTEL_TRACES_SAMPLER"] ?? "") ?? [];
  const root = samplers[name] ?? samplers["always_on"]!;
  const provider = new sdk.TracerProvider({
    sampler: isByParent || !name ? new sdk.ParentBasedSampler({ root }) : root,
    resource: resources
      .resourceFromAttributes({ "service.name": part })
      .merge(resources.detectResources({ detectors: [resources.envDetector] })),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter(), scheduledDelayMillis })],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  tracer = provider.getTracer("engagement-graph");
  return async () => {
    tracer = undefined;
    context.disable();
    propagation.disable();
    // A collector that is away keeps no process from ending, and what it misses is lost.
    await provider.shutdown().catch(() => undefined);
  };
}

/** What to pass on so that work done elsewhere belongs to the same trace; undefined outside of one. */
export function traceParent(): string | undefined {
  if (!tracer) return undefined;
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent;
}

/** A span for each request, in the trace of its caller if it names one. */
export function traceRequests(
  describe: (request: Parameters<RequestHandler>[0]) => Attributes,
): RequestHandler {
  return (request, response, next) => {
    if (!tracer) return next();
    const parent = propagation.extract(ROOT_CONTEXT, request.headers);
    const span = tracer.startSpan(request.method, { kind: SpanKind.SERVER }, parent);
    response.once("close", () => {
      const attributes = describe(request);
      span.updateName(`${request.method} ${String(attributes["http.route"])}`);
      span.setAttributes({ ...attributes, "http.response.status_code": response.statusCode });
      if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
    context.with(trace.setSpan(parent, span), next);
  };
}

/** A span for each statement that a request or a job sends through a pool. */
export function traceStatements(pool: pg.Pool): void {
  if (!tracer) return;
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...input: unknown[]) => unknown;
    client.query = ((...input: unknown[]) => {
      const span = statementSpan(statementOf(input[0]));
      if (!span) return query(...input);
      const done = input.at(-1);
      if (typeof done === "function") {
        const told = (error: unknown, result: unknown) => {
          ended(span, error);
          (done as (error: unknown, result: unknown) => void)(error, result);
        };
        return query(...input.slice(0, -1), context.bind(context.active(), told));
      }
      const answer = query(...input) as Promise<unknown>;
      answer.then(
        () => ended(span),
        (error: unknown) => ended(span, error),
      );
      return answer;
    }) as typeof client.query;
  });
}

/** A span for one statement, where it is sent by other means. */
export async function traceStatement<T>(statement: pg.QueryConfig, send: () => Promise<T>): Promise<T> {
  const span = statementSpan(statementOf(statement));
  if (!span) return send();
  try {
    const answer = await send();
    ended(span);
    return answer;
  } catch (error) {
    ended(span, error);
    throw error;
  }
}

function statementSpan(text: string | undefined): Span | undefined {
  if (!tracer || text === undefined || !trace.getActiveSpan()) return undefined;
  return tracer.startSpan(text.trim().split(/\s/, 1)[0] ?? "", {
    kind: SpanKind.CLIENT,
    attributes: { "db.system.name": "postgresql", "db.query.text": text },
  });
}

/** The text of a statement; of the one that carries another, that one. Streams and cursors have none. */
function statementOf(given: unknown): string | undefined {
  if (typeof given === "string") return given;
  const { name, text, values } = given as { name?: string; text?: string; values?: unknown[] };
  return name === "run_as" ? String(values?.[1]) : "submit" in (given as object) ? undefined : text;
}

/** A span for each job, in the trace of the request that asked for it. */
export function traceJobs(tasks: TaskList): TaskList {
  return Object.fromEntries(
    Object.entries(tasks).map(([task, run]) => [
      task,
      (payload, helpers) =>
        inSpan(`job ${task}`, async () => run!(payload, helpers), {
          kind: SpanKind.CONSUMER,
          carrier: payload,
        }),
    ]),
  ) as TaskList;
}

/** Does something within a span: of the trace that a carrier names, or of a trace of its own. */
export async function inSpan<T>(
  name: string,
  work: () => Promise<T>,
  { kind, carrier }: { kind?: SpanKind; carrier?: unknown } = {},
): Promise<T> {
  if (!tracer) return work();
  const parent = propagation.extract(ROOT_CONTEXT, carrier ?? {});
  const span = tracer.startSpan(name, { ...(kind !== undefined && { kind }) }, parent);
  try {
    const result = await context.with(trace.setSpan(parent, span), work);
    ended(span);
    return result;
  } catch (error) {
    ended(span, error);
    throw error;
  }
}

/** The kind of an error, never its words: see process/log.ts. */
function ended(span: Span, error?: unknown): void {
  if (error) {
    const { code } = error as { code?: unknown };
    span.setAttribute("error.type", typeof code === "string" ? code : "error");
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}
