// What is asked of the graph is another question than the one that was sent.
import type { Mistake } from "../mistake.ts";

type Slip = [only: string, rule: string, before: string, after: string];
const slips = (...all: Slip[]): Mistake[] =>
  all.map(([only, rule, before, after]) => ({
    ...{ rule, file: "server/sparql/request.ts", before, after, tests: ["sparql-request"], only },
  }));

export const SPARQL_REQUESTS: readonly Mistake[] = slips(
  [
    "in a form",
    "a query in a form has the graphs of the address too",
    "return fromForm(decodeForm(body), address);",
    "return fromForm(decodeForm(body));",
  ],
  [
    "as it is",
    "a query that is sent as it is has the graphs of the address",
    'withDataset(decodeUtf8(body, "The query"), address)',
    'withDataset(decodeUtf8(body, "The query"))',
  ],
  [
    "in JSON",
    "a query in JSON has the graphs of the address too",
    "withDataset(parsed.data.query, address, dataset)",
    "withDataset(parsed.data.query, dataset)",
  ],
  [
    "in a form",
    "graphs are merged in the order in which they are named",
    "withDataset(text, ...others, form)",
    "withDataset(text, form, ...others)",
  ],
  [
    "in a form",
    "a graph that GRAPH may name is not in the default graph",
    'namedGraphs: all("named-graph-uri") }',
    'namedGraphs: all("default-graph-uri") }',
  ],
  [
    "without a scheme",
    "a default graph is named by an absolute IRI",
    "request.defaultGraphs.filter(isNotAbsolute).map",
    "request.namedGraphs.filter(isNotAbsolute).slice(1).map",
  ],
  ["is asked of the graphs", "a scheme may be in capitals", "\\\\\\s]*$/i;", "\\\\\\s]*$/;"],
  ["is asked of the graphs", "a scheme may have digits and signs in it", "[a-z0-9+.-]*:", "[a-z]*:"],
  ["with a space", "an IRI has no space in it", "`\\\\\\s]*$", "`\\\\]*$"],
  [
    "six thousand",
    "the graphs of a query have six thousand characters and no more",
    "length > LONGEST_DATASET",
    "length >= LONGEST_DATASET",
  ],
  [
    "six thousand",
    "graphs that GRAPH may name count as well",
    "request.defaultGraphs.concat(request.namedGraphs)",
    "request.defaultGraphs",
  ],
  [
    "as long as",
    "an address is as long as a query may be",
    "originalUrl.length > maxBytes",
    "originalUrl.length >= maxBytes",
  ],
  [
    "that updates, as it is",
    "an update is refused as one",
    'if (type === UPDATE) throw new ApiError("read_only");',
    "",
  ],
  [
    "that updates, in a form",
    "an update in a form is refused as one, also beside a query",
    'if (form.has("update")) throw',
    'if (form.has("update") && !form.has("query")) throw',
  ],
  [
    "without a text",
    "a form without a query is refused, and asks for no description",
    'if (text === undefined) throw validationFailed([{ path: "query", message: "is required" }]);',
    'if (text === undefined) return withDataset("", ...others, form);',
  ],
  [
    "another field",
    "what JSON knows nothing of is refused",
    "const jsonBody = z.strictObject({",
    "const jsonBody = z.object({",
  ],
  ["that is packed", "a query that is packed is refused", ' || encoding !== "identity"', ""],
  [
    "HEAD",
    "whoever asks for the headers alone asks by the address",
    'request.method !== "POST"',
    'request.method === "GET"',
  ],
);
