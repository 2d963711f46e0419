// The fields of a record, as records/ describes them.
import { html } from "hono/html";
import { fieldsOf, idOf } from "../../../records/record.ts";
import type { Field, RecordDescription } from "../../../records/record.ts";
import type { Content } from "../page.ts";
import { begin, cut, word } from "../parts/text.ts";
import { day, time } from "../parts/time.ts";
import { organizationPath, recordPath } from "./kinds.ts";

/** A record by its wire names, and the names for its codes. */
export type Item = Record<string, unknown>;
export type CodeNames = Readonly<
  Record<"accelerators" | "countries" | "peopleGroups", Record<string, string>>
>;

/** Fields that are shown elsewhere on the page, or as part of another field. */
const ELSEWHERE = new Set(["orgName", "status"]);

const LABELS: Readonly<Record<string, string>> = {
  orgUri: "Organization",
  declaredByEmail: "Declared by",
  claimedByEmail: "Attested by",
  needDescription: "What is needed",
  commitmentDescription: "What is promised",
  description: "What took place",
  acceleratorScope: "Accelerators",
  engagementAccelerators: "Accelerators",
  concernsNeedId: "Answers the need",
  fulfillsCommitmentId: "Fulfils the commitment",
  concernsPeopleGroupRop3: "People groups",
  concernsCountryCode: "Countries",
  peopleGroupRop3: "People group",
  peopleGroupRog3: "ROG3 of the country",
  countryCode: "Country",
};

/**
 * The fields of a record that have a value.
 * @param texts of the other records of its chain, by their ids
 */
export function details(
  record: RecordDescription,
  item: Item,
  names: CodeNames,
  texts: ReadonlyMap<string, string | null>,
): Content {
  const shown = fieldsOf(record).filter(
    ({ name }) => !ELSEWHERE.has(name) && !isEmpty(item[name]) && name !== idOf(record),
  );
  return html`<dl>
    ${shown.map(
      (field) =>
        html`<dt>${LABELS[field.name] ?? labelOf(field.name)}</dt>
          <dd>${shownValue(field, item, names, texts)}</dd>`,
    )}
    <dt>In the graph</dt>
    <dd>${word(String(item["graphStatus"]))}${refusals(item)}</dd>
  </dl>`;
}

/** What the load check found wrong. */
function refusals({ graphErrors }: Item): Content | string {
  if (!Array.isArray(graphErrors)) return "";
  const found = graphErrors as { path: string; message: string }[];
  return html`:
  ${found.map(({ path, message }, place) => {
    const before = place > 0 ? "; " : "";
    return html`${before}<bdi>${path}</bdi> <bdi>${message}</bdi>`;
  })}`;
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0);
}

/** A wire name in words: updatedAt is "Updated at". */
function labelOf(name: string): string {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function shownValue(
  { name, type, graph }: Field & { name: string },
  item: Item,
  names: CodeNames,
  texts: ReadonlyMap<string, string | null>,
): Content {
  const value = item[name];
  const text = String(value);
  if (name === "orgUri") return html`<a href="${organizationPath(text)}"><bdi>${item["orgName"]}</bdi></a>`;
  if (typeof graph === "object" && "to" in graph)
    return html`<a href="${recordPath(graph.to, text)}"
      ><bdi>${begin(texts.get(text) ?? text, 120)}</bdi></a
    >`;
  switch (type) {
    case "timestamp":
      return time(text);
    case "date":
      return day(text);
    case "acceleratorCodes":
      return codes(value, names.accelerators);
    case "countryCode":
    case "countryCodes":
      return codes(value, names.countries);
    case "rop3":
    case "rop3s":
      return codes(value, names.peopleGroups);
    default:
      return cut(text, 600);
  }
}

function codes(value: unknown, names: Record<string, string>): Content {
  return html`<ul class="codes">
    ${[value].flat().map((code) => {
      const name = names[String(code)];
      return html`<li>
        ${name === undefined ? "" : html`<bdi>${name}</bdi> `}<code>${String(code)}</code>
      </li>`;
    })}
  </ul>`;
}
