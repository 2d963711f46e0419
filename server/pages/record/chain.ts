// The chain of a record as app_private.chain returns it, and as a tree.
import type { RecordKind } from "../../../records/record.ts";

export type Step = { status: string; at: string; by: string | null };

export type Node = {
  kind: RecordKind;
  id: string;
  parent?: string | null;
  orgUri: string;
  orgName: string;
  text: string | null;
  status: string;
  by: string;
  at: string;
  due?: string | null;
  /** How many records answer it, counted up to MOST_COUNTED. */
  children: number;
  /** The latest statuses, first to last. */
  history: Step[];
};

/** The records linked to one record, whose id is `id`; its answers come in pages. */
export type Chain = { id: string; page: number; pages: number; nodes: Node[] };

export const MOST_COUNTED = 1_001;

export type Tree = Node & {
  isOwn: boolean;
  /** The answers that are shown. */
  answers: Tree[];
  /** How many more follow after those. */
  hidden: number;
};

const PAGE = 50;

/** The chain as a tree. Its root is the need, or the record that answers none. */
export function treeOf({ id, page, nodes }: Chain): Tree {
  const grow = (node: Node): Tree => {
    const answers = nodes.filter(({ parent }) => parent === node.id).map(grow);
    const before = node.id === id ? (page - 1) * PAGE : 0;
    const hidden = Math.max(0, node.children - before - answers.length);
    return { ...node, isOwn: node.id === id, answers, hidden };
  };
  return grow(nodes[0]!);
}

/** Since when a record has its status. */
export function sinceOf({ history, at }: Node): string {
  return history.at(-1)?.at ?? at;
}
