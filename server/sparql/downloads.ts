// Answers as files to download. A link cannot set Accept, so each format has its own URL; what may be asked
// there, and by whom, is the same as at /v0/sparql.
import { JSON_LD, RESULTS_JSON, TURTLE } from "../../graph/media-types.ts";

export const DOWNLOADS = [
  { path: "/sparql/result.csv", accept: "text/csv", file: "result.csv", label: "CSV", of: ["select"] },
  {
    path: "/sparql/result.json",
    accept: RESULTS_JSON,
    file: "result.json",
    label: "JSON",
    of: ["select", "ask"],
  },
  {
    path: "/sparql/result.ttl",
    accept: TURTLE,
    file: "result.ttl",
    label: "Turtle",
    of: ["construct", "describe"],
  },
  {
    path: "/sparql/result.jsonld",
    accept: JSON_LD,
    file: "result.jsonld",
    label: "JSON-LD",
    of: ["construct", "describe"],
  },
] as const;
