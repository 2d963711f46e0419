// Writes solutions as text, one at a time, exactly as the engine would write them all at once
// (the tests compare the two).
import * as oxigraph from "oxigraph";
import { XSD } from "../namespaces.ts";
import { RESULTS_JSON, RESULTS_XML } from "../media-types.ts";
import type { Solution } from "./each-result.ts";

export interface SolutionWriter {
  head: string;
  /** @param isFirst whether no other has been written before */
  solution(solution: Solution, isFirst: boolean): string;
  tail: string;
}

/** @throws Error for a media type that is not a format of solutions */
export function solutionWriter(type: string, variables: readonly string[]): SolutionWriter {
  switch (type) {
    case RESULTS_JSON:
      return {
        head: `{"head":{"vars":${JSON.stringify(variables)}},"results":{"bindings":[`,
        solution: (solution, isFirst) => {
          const bindings = bound(
            solution,
            variables,
            (name, term) => `${JSON.stringify(name)}:${json(term)}`,
          );
          return `${isFirst ? "" : ","}{${bindings.join(",")}}`;
        },
        tail: "]}}",
      };
    case RESULTS_XML: {
      const names = variables.map((name) => `<variable name="${name}"/>`).join("");
      return {
        head: `<?xml version="1.0"?><sparql xmlns="http://www.w3.org/2005/sparql-results#"><head>${names}</head><results>`,
        solution: (solution) => {
          const bindings = bound(
            solution,
            variables,
            (name, term) => `<binding name="${name}">${xml(term)}</binding>`,
          );
          return `<result>${bindings.join("")}</result>`;
        },
        tail: "</results></sparql>",
      };
    }
    case "text/csv":
      return lines(variables.join(","), ",", "\r\n", variables, csv);
    case "text/tab-separated-values":
      return lines(variables.map((name) => `?${name}`).join("\t"), "\t", "\n", variables, tsv);
    default:
      throw new Error(`Solutions cannot be written as ${type}.`);
  }
}

function bound(
  solution: Solution,
  variables: readonly string[],
  write: (name: string, term: oxigraph.Term) => string,
): string[] {
  return variables.flatMap((name) => {
    const term = solution.get(name);
    return term ? [write(name, term)] : [];
  });
}

function lines(
  head: string,
  separator: string,
  end: string,
  variables: readonly string[],
  write: (term: oxigraph.Term) => string,
): SolutionWriter {
  return {
    head: head + end,
    solution: (solution) => {
      const cells = variables.map((name) => {
        const term = solution.get(name);
        return term ? write(term) : "";
      });
      return cells.join(separator) + end;
    },
    tail: "",
  };
}

/**
 * The parts of a term that is not a triple, parsed from its N-Triples text: asking the engine for any one
 * part costs as much as that text.
 */
interface Parts {
  kind: "uri" | "bnode" | "literal";
  value: string;
  language?: string;
  direction?: string;
  datatype?: string;
}

const LITERAL =
  /^"(?<value>[^]*)"(?:@(?<language>[a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*)(?:--(?<direction>ltr|rtl))?|\^\^<(?<datatype>[^>]*)>)?$/;

function partsOf(term: oxigraph.Term): Parts {
  const text = term.toString();
  if (text.startsWith("<")) return { kind: "uri", value: text.slice(1, -1) };
  if (text.startsWith("_:")) return { kind: "bnode", value: text.slice(2) };
  const { value = "", language, direction, datatype } = LITERAL.exec(text)?.groups ?? {};
  return { kind: "literal", value: value.includes("\\") ? term.value : value, language, direction, datatype };
}

/** The three parts of a term that is itself a triple; null for other terms. */
function partsOfTriple(term: oxigraph.Term, write: (part: oxigraph.Term) => string): string[] | null {
  if (!(term instanceof oxigraph.Quad)) return null;
  return [term.subject, term.predicate, term.object].map(write);
}

function json(term: oxigraph.Term): string {
  const triple = partsOfTriple(term, json);
  if (triple) {
    const [subject, predicate, object] = triple;
    return `{"type":"triple","value":{"subject":${subject},"predicate":${predicate},"object":${object}}}`;
  }
  const { kind, value, language, direction, datatype } = partsOf(term);
  const more =
    language !== undefined
      ? `,"xml:lang":"${language}"${direction === undefined ? "" : `,"its:dir":"${direction}"`}`
      : datatype === undefined
        ? ""
        : `,"datatype":${JSON.stringify(datatype)}`;
  return `{"type":"${kind}","value":${JSON.stringify(value)}${more}}`;
}

function xml(term: oxigraph.Term): string {
  const triple = partsOfTriple(term, xml);
  if (triple) {
    const [subject, predicate, object] = triple;
    return `<triple><subject>${subject}</subject><predicate>${predicate}</predicate><object>${object}</object></triple>`;
  }
  const { kind, value, language, direction, datatype } = partsOf(term);
  const attribute =
    language !== undefined
      ? ` xml:lang="${language}"${direction === undefined ? "" : ` its:dir="${direction}" ${ITS}`}`
      : datatype === undefined
        ? ""
        : ` datatype="${escapeXml(datatype)}"`;
  return `<${kind}${attribute}>${escapeXml(value)}</${kind}>`;
}

const ITS = `xmlns:its="http://www.w3.org/2005/11/its" its:version="2.0"`;

const XML_ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => XML_ENTITIES[character]!);
}

function csv(term: oxigraph.Term): string {
  const triple = partsOfTriple(term, csv);
  if (triple) return triple.join(" ");
  const { kind, value } = partsOf(term);
  const cell = kind === "bnode" ? `_:${value}` : value;
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

// The values of a datatype that Turtle can write without naming it.
const BARE: Readonly<Record<string, RegExp>> = {
  [`${XSD}boolean`]: /^(?:true|false)$/,
  [`${XSD}integer`]: /^[+-]?\d+$/,
  [`${XSD}decimal`]: /^[+-]?\d*\.\d+$/,
  [`${XSD}double`]: /^[+-]?(?:\d+\.\d*|\.?\d+)e[+-]?\d+$/i,
};

function tsv(term: oxigraph.Term): string {
  const triple = partsOfTriple(term, tsv);
  if (triple) return `<<( ${triple.join(" ")} )>>`;
  const { value, datatype } = partsOf(term);
  return datatype !== undefined && BARE[datatype]?.test(value) ? value : term.toString();
}
