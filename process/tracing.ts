// OpenTelemetry traces: request, statement, job. Off unless OTEL_EXPORTER_OTLP_ENDPOINT is set; while off,
// only the API package is loaded. Like the log, spans contain no texts of users: statements are shown as they
// are written here, with placeholders for values.
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
 * Begins to make and send spans, if the environment says where.
 * @param part the name of the process, unless OTEL_SERVICE_NAME is set
 * @param env the libraries' own variables: OTEL_EXPORTER_OTLP_*, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER(_ARG), OTEL_BSP_SCHEDULE_DELAY, OTEL_SDK_DISABLED
 * @returns stops tracing, after sending what is left
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
    // An unreachable collector must not keep the process from ending; its spans are lost.
    await provider.shutdown().catch(() => undefined);
  };
}

/** The header to pass on so that work done elsewhere joins the same trace; undefined outside of one. */
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

/** A span for one statement that traceStatements does not see. */
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

/** The text of a statement; for `run_as`, that of the statement it runs. Streams and cursors have none. */
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

/** Runs work within a span: in the trace that the carrier names, or in a new one. */
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

/** Ends a span, with the kind of an error but never its text: see process/log.ts. */
function ended(span: Span, error?: unknown): void {
  if (error) {
    const { code } = error as { code?: unknown };
    span.setAttribute("error.type", typeof code === "string" ? code : "error");
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}
