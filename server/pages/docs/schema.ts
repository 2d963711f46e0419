// A schema in words: what a value is, and which fields it has.
import { html } from "hono/html";
import type { Content } from "../page.ts";
import { phrase } from "../parts/text.ts";
import type { Schema } from "./document.ts";

/** The name of a shared schema. */
const nameOf = (ref: string) => ref.slice(ref.lastIndexOf("/") + 1);

/** What a value is: `integer, 1 to 200`, `list of Need`. */
export function typeOf(schema: Schema): Content {
  const { $ref, anyOf, oneOf, items, enum: codes } = schema;
  if ($ref !== undefined) return html`<a href="#schema-${nameOf($ref)}">${nameOf($ref)}</a>`;
  const either = anyOf ?? oneOf;
  if (either) return joined(either.map(typeOf), " or ");
  if (codes) return joined(codes.map(code), " or ");
  if (schema.const !== undefined) return code(schema.const);
  const types = [schema.type ?? "anything"].flat().map((type) => (type === "array" ? "list" : type));
  const bounds = boundsOf(schema);
  return html`${types.join(" or ")}${items ? html` of ${typeOf(items)}` : ""}${bounds && `, ${bounds}`}`;
}

/** The fields of a schema, nested ones included; empty if it has none. */
export function fieldsOf(schema: Schema): Content | string {
  const { properties, required = [], items, anyOf, oneOf } = schema;
  const parts = anyOf ?? oneOf ?? (items && [items]);
  if (parts) return html`${parts.map(fieldsOf)}`;
  if (!properties || Object.keys(properties).length === 0) return "";
  return html`<ul class="fields">
    ${Object.entries(properties).map(
      ([name, field]) =>
        html`<li>
          <code>${name}</code>
          <span class="quiet">${typeOf(field)}${required.includes(name) ? ", required" : ""}</span>
          <div>${described(field)}</div>
          ${fieldsOf(field)}
        </li>`,
    )}
  </ul>`;
}

/** The description of a value, with its default. */
export function described({ description, default: otherwise, deprecated }: Schema): Content {
  return html`${deprecated ? html` <strong>Deprecated.</strong>` : ""}${
    description === undefined ? "" : phrase(description)
  }${otherwise === undefined ? "" : html` Otherwise ${code(otherwise)}.`}`;
}

function boundsOf(schema: Schema): string {
  const { format, minimum, maximum, minLength, maxLength, minItems, maxItems } = schema;
  const isSafe = (bound?: number) => bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
  const lowest = isSafe(minimum) ? minimum : undefined;
  const highest = isSafe(maximum) ? maximum : undefined;
  return [
    format,
    range(lowest, highest, ""),
    range(minLength, maxLength, " characters"),
    range(minItems, maxItems, " items"),
  ]
    .filter(Boolean)
    .join(", ");
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}`;
  if (most !== undefined) return `at most ${most}${unit}`;
  return least === undefined ? "" : `at least ${least}${unit}`;
}

function code(value: unknown): Content {
  return html`<code>${typeof value === "string" ? value : JSON.stringify(value)}</code>`;
}

function joined(parts: readonly Content[], between: string): Content {
  return html`${parts.map((part, index) => html`${index === 0 ? "" : between}${part}`)}`;
}
