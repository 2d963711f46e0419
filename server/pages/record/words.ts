// The chain in words: the same records as in the drawing, with their texts and statuses.
import { html } from "hono/html";
import type { Content } from "../page.ts";
import { cut, word } from "../parts/text.ts";
import { day, time } from "../parts/time.ts";
import { sinceOf } from "./chain.ts";
import type { Step, Tree } from "./chain.ts";
import { hiddenOf, moreOf } from "./drawing.ts";
import { NAMES, organizationPath, recordPath } from "./kinds.ts";

/** @param next the address of the next page of answers to the record itself */
export function words(chain: Tree, next: string): Content {
  return html`<ol class="chain">
    ${item(chain, next)}
  </ol>`;
}

function item(tree: Tree, next: string): Content {
  const { answers, hidden } = tree;
  return html`<li>
    ${about(tree)}
    ${
      answers.length + hidden > 0
        ? html`<ol>
            ${answers.map((answer) => item(answer, next))}
            ${hidden > 0 ? html`<li><a href="${moreOf(tree, next)}">${hiddenOf(tree)}</a></li>` : ""}
          </ol>`
        : ""
    }
  </li>`;
}

function about(tree: Tree): Content {
  const { kind, id, isOwn, status, text, orgUri, orgName, by, at, due, history } = tree;
  const name = NAMES[kind].one;
  return html`<div class="${isOwn ? "record own" : "record"}">
    <p>
      ${isOwn ? html`<b>${name}</b> (this page)` : html`<a href="${recordPath(kind, id)}">${name}</a>`}:
      <b>${word(status)}</b> since ${day(sinceOf(tree))}
    </p>
    ${isOwn || text === null ? "" : cut(text)}
    <p class="quiet">
      <a href="${organizationPath(orgUri)}"><bdi>${orgName}</bdi></a
      >, by <bdi>${by}</bdi>, ${day(at)}${due ? html`; due ${day(due)}` : ""}
    </p>
    ${isOwn || history.length < 2 ? "" : steps(history)}
  </div>`;
}

function steps(history: readonly Step[]): Content {
  return html`<details>
    <summary>${history.length} latest statuses</summary>
    <ol class="quiet">
      ${history.map(({ status, at, by }) => html`<li>${word(status)}, ${day(at)}, by ${setBy(by)}</li>`)}
    </ol>
  </details>`;
}

/** Every status of a record. */
export function statuses(history: readonly Step[]): Content {
  return html`<table class="list">
    <caption class="hidden">
      The latest statuses of this record, first to last
    </caption>
    <thead>
      <tr>
        <th scope="col">Status</th>
        <th scope="col">Since</th>
        <th scope="col">Set by</th>
      </tr>
    </thead>
    <tbody>
      ${history.map(
        ({ status, at, by }) =>
          html`<tr>
            <th scope="row">${word(status)}</th>
            <td>${time(at)}</td>
            <td>${setBy(by)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function setBy(by: string | null): Content {
  return by === null ? html`the service itself` : html`<bdi>${by}</bdi>`;
}
