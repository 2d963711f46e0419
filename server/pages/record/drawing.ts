// The chain as a drawing: a box for each record, from the need to the attestations. Drawn twice, from left to
// right for wide screens and downwards for phones; the style sheet shows one of them.
import { html } from "hono/html";
import type { Content } from "../page.ts";
import { begin, word } from "../parts/text.ts";
import { dayOf } from "../parts/time.ts";
import { MOST_COUNTED, sinceOf } from "./chain.ts";
import type { Tree } from "./chain.ts";
import { answersTo, NAMES, recordPath } from "./kinds.ts";

/** A box for a record, or for the number of answers that are not shown. */
type Box = { x: number; y: number; from: Box | undefined } & ({ tree: Tree } | { more: Tree });

type Plan = {
  id: string;
  width: number;
  /** The x position of a box, by its distance from the root. */
  x: (depth: number) => number;
  /** Whether the first answer is beside the record that it answers, or below it. */
  isBeside: boolean;
  link: (from: Box, to: Box) => string;
};

const [BOX, MORE, GAP, EDGE] = [72, 30, 12, 4];

// Lines have right angles, so that all lines from the same box overlap, however many there are.
const DESK: Plan = {
  ...{ id: "wide", width: 250, isBeside: true },
  x: (depth) => EDGE + depth * 310,
  link: (from, to) => `M${from.x + 250} ${from.y + BOX / 2}h30V${to.y + heightOf(to) / 2}H${to.x}`,
};

const PHONE: Plan = {
  ...{ id: "narrow", width: 250, isBeside: false },
  x: (depth) => EDGE + depth * 24,
  link: (from, to) => `M${from.x + 12} ${from.y + BOX}V${to.y + heightOf(to) / 2}H${to.x}`,
};

/** @param next the address of the next page of answers to the record itself */
export function drawing(chain: Tree, next: string): Content {
  return html`<div class="drawing" tabindex="0" role="group" aria-label="The chain, drawn">
    ${[DESK, PHONE].map((plan) => draw(plan, chain, next))}
  </div>`;
}

function draw(plan: Plan, chain: Tree, next: string): Content {
  const boxes: Box[] = [];
  place(plan, chain, undefined, boxes, { depth: 0, y: EDGE });
  const width = Math.max(...boxes.map(({ x }) => x)) + plan.width + EDGE;
  const height = Math.max(...boxes.map((box) => box.y + heightOf(box))) + EDGE;
  return html`<svg
    class="chain ${plan.id}"
    width="${width}"
    height="${height}"
    viewBox="0 0 ${width} ${height}"
    role="group"
    aria-labelledby="${plan.id}-title ${plan.id}-about"
  >
    <title id="${plan.id}-title">The chain of this record</title>
    <desc id="${plan.id}-about">
      From the need to the commitments that answer it and the attestations that answer these; below, the same
      in words.
    </desc>
    ${boxes.map((box) => (box.from ? html`<path d="${plan.link(box.from, box)}" />` : ""))}
    ${boxes.map((box) => ("tree" in box ? record(box, box.tree, plan) : rest(box, box.more, next)))}
  </svg>`;
}

/** Places a record and its answers; returns the y position of the next free space. */
function place(
  plan: Plan,
  tree: Tree,
  from: Box | undefined,
  boxes: Box[],
  at: { depth: number; y: number },
): number {
  const box: Box = { x: plan.x(at.depth), y: at.y, from, tree };
  boxes.push(box);
  const below = at.y + BOX + GAP;
  const depth = at.depth + 1;
  let y = plan.isBeside ? at.y : below;
  for (const answer of tree.answers) y = place(plan, answer, box, boxes, { depth, y });
  if (tree.hidden > 0) {
    boxes.push({ x: plan.x(depth), y, from: box, more: tree });
    y += MORE + GAP;
  }
  return Math.max(y, below);
}

function heightOf(box: Box): number {
  return "tree" in box ? BOX : MORE;
}

function record({ x, y }: Box, tree: Tree, { width }: Plan): Content {
  const { kind, id, status, orgName, isOwn } = tree;
  const name = NAMES[kind].one;
  const who = begin(orgName, 30);
  const when = `since ${dayOf(sinceOf(tree))}`;
  return html`<a
    class="${isOwn ? "own" : ""}"
    href="${recordPath(kind, id)}"
    aria-label="${[name, word(status), who, when].join(" ")}"
    aria-current="${isOwn ? "page" : "false"}"
  >
    <svg x="${x}" y="${y}" width="${width}" height="${BOX}">
      <rect x="1" y="1" width="${width - 2}" height="${BOX - 2}" rx="8" />
      <text x="12" y="21" class="kind">${name}</text>
      <text x="${width - 12}" y="21" class="status">${word(status)}</text>
      <text x="12" y="42" class="who">${who}</text>
      <text x="12" y="61" class="when">${when}</text>
    </svg>
  </a>`;
}

function rest({ x, y }: Box, tree: Tree, next: string): Content {
  return html`<a class="more" href="${moreOf(tree, next)}">
    <svg x="${x}" y="${y}" width="190" height="${MORE}">
      <rect x="1" y="1" width="188" height="${MORE - 2}" rx="8" />
      <text x="12" y="20">${hiddenOf(tree)}</text>
    </svg>
  </a>`;
}

/** The address of the answers that are not shown. */
export function moreOf({ kind, id, isOwn }: Tree, next: string): string {
  return isOwn ? next : recordPath(kind, id);
}

/** How many answers to a record are not shown. */
export function hiddenOf({ kind, children, hidden, answers }: Tree): string {
  if (children >= MOST_COUNTED) return `many more ${answersTo(kind, hidden)}`;
  return `${hidden} ${answers.length > 0 ? "more " : ""}${answersTo(kind, hidden)}`;
}
