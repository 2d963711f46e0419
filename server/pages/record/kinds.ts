// What the pages call the three kinds of record, and the paths of their pages.
import { RECORDS } from "../../../records/index.ts";
import type { RecordKind } from "../../../records/record.ts";

export const NAMES: Readonly<Record<RecordKind, { one: string; many: string; title: string }>> = {
  need: { one: "Need", many: "needs", title: "Needs" },
  commitment: { one: "Commitment", many: "commitments", title: "Commitments" },
  engagement_claim: { one: "Attestation", many: "attestations", title: "Attestations" },
};

const ANSWERED_BY: Readonly<Partial<Record<RecordKind, RecordKind>>> = {
  need: "commitment",
  commitment: "engagement_claim",
};

/** What the answers to a record of this kind are called, in the singular or plural. */
export function answersTo(kind: RecordKind, number: number): string {
  const { one, many } = NAMES[ANSWERED_BY[kind] ?? kind];
  return number === 1 ? one.toLowerCase() : many;
}

/** The path of a record's page, which is also that of its URI in the graph. */
export function recordPath(kind: RecordKind, id: string): string {
  return `/${RECORDS[kind].path}/${id}`;
}

/** The path of an organization's page, formed as in REST. */
export function organizationPath(orgUri: string): string {
  return `/organizations/${encodeURIComponent(orgUri)}`;
}
