// One operation of REST: its purpose, inputs and answers, and a form to try it.
import { html } from "hono/html";
import type { Content } from "../page.ts";
import { phrase } from "../parts/text.ts";
import type { MediaType, Operation, Parameter } from "./document.ts";
import { described, fieldsOf, typeOf } from "./schema.ts";

/** Where an operation is in the document. */
type Place = { path: string; method: string };

/** @param operation as the document has it; the form is sent by assets/docs.js */
export function showOperation({ path, method }: Place, operation: Operation): Content {
  const { operationId, summary, description = summary, deprecated, parameters = [], requestBody } = operation;
  return html`<details class="card operation">
    <summary>
      <h3><span class="method">${method.toUpperCase()}</span> <code>${path}</code></h3>
      <span class="quiet">${deprecated ? "Deprecated. " : ""}${summary}</span>
    </summary>
    <div id="${operationId}">
      <p>${phrase(description)}</p>
      <form
        class="try"
        data-method="${method}"
        data-path="${path}"
        aria-label="${method.toUpperCase()} ${path}"
      >
        ${parameters.map((parameter) => field(operationId, parameter))}
        ${requestBody ? body(operationId, requestBody.content) : ""}
        <p class="actions"><button type="submit" hidden>Send</button></p>
        <div class="answer" role="status"></div>
      </form>
      <h4>Answers</h4>
      ${answers(operation)}
    </div>
  </details>`;
}

function field(
  operationId: string,
  { name, in: place, required = false, example, ...parameter }: Parameter,
): Content {
  const { schema } = parameter;
  const hint = `${operationId}-${name}-hint`;
  const attributes = html`name="${name}" data-in="${place}" aria-describedby="${hint}"
  ${schema.type === "array" ? "data-list" : ""} ${required ? "required" : ""}`;
  const codes = schema.enum ?? (schema.type === "boolean" ? [true, false] : undefined);
  const value = example === undefined ? "" : String(example);
  return html`<label>
      ${name} <span class="quiet">${place}, ${typeOf(schema)}${required ? ", required" : ""}</span>
      ${
        codes
          ? html`<select ${attributes}>
              <option></option>
              ${codes.map((code) => html`<option ${String(code) === value ? "selected" : ""}>${String(code)}</option>`)}
            </select>`
          : html`<input ${attributes} value="${value}" spellcheck="false" autocomplete="off" />`
      }
    </label>
    <p class="hint" id="${hint}">
      ${described({ ...schema, description: parameter.description ?? schema.description })}
      ${schema.type === "array" ? "Separate several values by commas." : ""}
    </p>`;
}

function body(operationId: string, content: Readonly<Record<string, MediaType>>): Content {
  const examples = Object.entries(content).flatMap(([type, media]) => examplesOf(type, media));
  const [first] = examples;
  const types = Object.entries(content);
  return html`${
      examples.length > 1
        ? html`<label>
            Example
            <select class="examples">
              ${examples.map(
                ({ label, type, text }) =>
                  html`<option data-type="${type}" value="${text}">${label}</option>`,
              )}
            </select>
          </label>`
        : ""
    }
    <label>
      Body <span class="quiet">${types.map(([type]) => type).join(" or ")}</span>
      <textarea name="body" data-in="body" data-type="${first!.type}" rows="8" spellcheck="false">
${first!.text}</textarea>
    </label>
    ${types.map(([type, { schema }]) => {
      const fields = schema && fieldsOf(schema);
      return fields
        ? html`<details>
            <summary>The fields of ${type} <span class="hidden">in ${operationId}</span></summary>
            ${fields}
          </details>`
        : "";
    })}`;
}

type Text = { label: string; type: string; text: string };

function examplesOf(type: string, { example, examples }: MediaType): Text[] {
  if (!examples) return [{ label: type, type, text: textOf(type, example) }];
  return Object.entries(examples).flatMap(([name, each]) =>
    "value" in each ? [{ label: each.summary ?? name, type, text: textOf(type, each.value) }] : [],
  );
}

function textOf(type: string, value: unknown): string {
  if (typeof value === "string" || value === undefined) return value ?? "";
  if (type === "application/x-www-form-urlencoded")
    return new URLSearchParams(value as Record<string, string>).toString();
  return JSON.stringify(value, null, 2);
}

function answers({ responses }: Operation): Content {
  return html`<ul class="fields">
    ${Object.entries(responses).map(([status, { description, content = {} }]) => {
      const [media] = Object.values(content);
      const shown = Number(status) < 300 && media?.schema;
      const codes = Number(status) < 400 ? [] : Object.keys(content["application/json"]?.examples ?? {});
      return html`<li>
        <b>${status}</b> ${phrase(description)} ${codes.map((code) => html`<code>${code}</code> `)}
        ${
          shown
            ? html`<span class="quiet">${Object.keys(content).join(", ")}: ${typeOf(shown)}</span>
                ${fieldsOf(shown)}`
            : ""
        }
      </li>`;
    })}
  </ul>`;
}
