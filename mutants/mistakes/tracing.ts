// Traces, where they are switched on.
import type { Mistake } from "../mistake.ts";

export const TRACES: readonly Mistake[] = [
  {
    tests: ["tracing-parts"],
    rule: "without a sampler named a trace that its caller does not sample is not sampled",
    file: "process/tracing.ts",
    before: "isByParent || !name ?",
    after: "isByParent ?",
  },
  {
    tests: ["tracing-parts"],
    rule: "a refusal is no error of a span",
    file: "process/tracing.ts",
    before: "response.statusCode >= 500",
    after: "response.statusCode >= 400",
  },
  {
    tests: ["tracing-parts"],
    rule: "of a statement that another carries the text is that one's",
    file: "process/tracing.ts",
    before: "String(values?.[1])",
    after: "text",
  },
  {
    tests: ["tracing-parts"],
    rule: "a statement that nobody asked for has no span",
    file: "process/tracing.ts",
    before: "|| !trace.getActiveSpan()",
    after: "",
  },
  {
    tests: ["tracing-parts"],
    rule: "a span never has the words of an error",
    file: "process/tracing.ts",
    before: 'typeof code === "string" ? code : "error"',
    after: 'typeof code === "string" ? code : String(error)',
  },
  {
    tests: ["tracing"],
    rule: "OTEL_SDK_DISABLED switches it off",
    file: "process/tracing.ts",
    before: 'env["OTEL_SDK_DISABLED"] === "true" || ',
    after: "",
    only: "nothing is traced unless",
  },
  {
    tests: ["tracing-parts"],
    rule: "what is left of spans is sent at the end",
    file: "process/tracing.ts",
    before: "    await provider.shutdown().catch(() => undefined);\n",
    after: "",
  },
  {
    tests: ["tracing-parts"],
    rule: "a collector that is away keeps no process from ending well",
    file: "process/tracing.ts",
    before: "provider.shutdown().catch(() => undefined)",
    after: "provider.shutdown()",
  },
  {
    tests: ["tracing-parts"],
    rule: "a process may be named by OTEL_SERVICE_NAME",
    file: "process/tracing.ts",
    before: "      .merge(resources.detectResources({ detectors: [resources.envDetector] })),",
    after: "      ,",
  },
  {
    tests: ["tracing-parts"],
    rule: "a job belongs to the trace of who asked for it",
    file: "process/tracing.ts",
    before: "carrier: payload,",
    after: "",
  },
  {
    tests: ["tracing-parts"],
    rule: "a statement that fails ends its span",
    file: "process/tracing.ts",
    before:
      "  } catch (error) {\n    ended(span, error);\n    throw error;\n  }\n}\n\nfunction statementSpan",
    after: "  } catch (error) {\n    throw error;\n  }\n}\n\nfunction statementSpan",
  },
  {
    tests: ["tracing-parts"],
    rule: "what is called back belongs to the trace that it was asked in",
    file: "process/tracing.ts",
    before: "context.bind(context.active(), told)",
    after: "told",
  },
];
