// The schema's subscriptions: changes, as they happen (server/live).
import { choices } from "../../db/catalog.ts";
import { context, get, lambda, listen, object } from "postgraphile/grafast";
import type { FieldArgs, GrafastSubscriber, Step } from "postgraphile/grafast";
import { parse } from "postgraphile/graphql";
import { extendSchema } from "postgraphile/utils";
import type { Change } from "../live/channel.ts";
import type { Topic } from "../live/feed.ts";
import { RECORD_KINDS, RECORDS } from "../../records/index.ts";
import { fieldsOf } from "../../records/record.ts";
import type { FieldType, RecordDescription, RecordKind } from "../../records/record.ts";

/** Changes by topic; the key is a Topic as JSON. */
type Topics = Record<string, Change>;

const AFTER = `
    """
    The cursor of the last event that you have: those after it come first, without a gap. Left out: only what changes from
    now on. One that is older than changes are kept (by default 30 days) is refused with \`changes_expired\`.
    """
    after: String`;

function subscribeTo(topicOf: (given: Record<string, unknown>) => Topic, names: readonly string[]) {
  return {
    subscribePlan(_: Step, args: FieldArgs) {
      const given = object(Object.fromEntries(names.map((name) => [name, args.getRaw(name)])));
      const topic = lambda(
        given,
        (values) => JSON.stringify(topicOf(values as Record<string, unknown>)),
        true,
      );
      return listen(get(context(), "changes") as unknown as Step<GrafastSubscriber<Topics>>, topic);
    },
    plan: ($event: Step) => $event,
  };
}

/** What records are called in types, and in the names of fields. */
const TYPES: Readonly<Record<RecordKind, string>> = {
  need: "Need",
  commitment: "Commitment",
  engagement_claim: "EngagementClaim",
};
const fieldOf = (kind: RecordKind) => `${TYPES[kind][0]!.toLowerCase()}${TYPES[kind].slice(1)}`;

const SCALARS: Readonly<Partial<Record<FieldType, string>>> = {
  ...{
    uuid: "UUID",
    date: "Date",
    timestamp: "Datetime",
    integer: "Int",
    number: "Float",
    boolean: "Boolean",
  },
  ...{ acceleratorCodes: "[String!]", rop3s: "[String!]", countryCodes: "[String!]" },
};

/**
 * The type of a changed record: read once for all subscribers, without links, each of which would be a query.
 */
function contentOf(record: RecordDescription): string {
  const type = TYPES[record.kind];
  const fields = fieldsOf(record).map(({ name, type: form, description }) => {
    const scalar = form === "status" ? `${type}Status` : (SCALARS[form] ?? "String");
    return `${JSON.stringify(description)} ${name}: ${scalar}`;
  });
  return `
    """What a change of a record shows of it, as the list of REST does, but for graphStatus; \`${fieldOf(record.kind)}\` has what is linked to it."""
    type Changed${type} {
      ${fields.join("\n      ")}
    }`;
}

/** The item of a change, if the change is of this kind. */
function itemOfKind(kind: RecordKind) {
  return ($event: Step) =>
    lambda($event as Step<Change>, (change) => (change.kind === kind ? change.item : null), true);
}

/** The plugin that adds the type Subscription. */
export const LivePlugin = extendSchema(() => ({
  typeDefs: parse(`
    """What changed."""
    enum ChangedKind {
      ${choices["changes.kind"].join("\n      ")}
    }

    """What happened."""
    enum ChangeEvent {
      ${choices["changes.change"].join("\n      ")}
    }

    """A committed change, as \`GET /v0/changes\` has it."""
    type Change {
      """Its place in the feed: pass the last one that you have as \`after\` to go on from there."""
      cursor: String!
      """What changed."""
      kind: ChangedKind!
      """The \`needId\`, \`commitmentId\` or \`claimId\` of what changed."""
      id: UUID!
      """What happened to it."""
      change: ChangeEvent!
      """When it happened."""
      changedAt: Datetime!
      """Its organization."""
      orgUri: String!
      """The need whose chain it is in."""
      needId: UUID
      """The status before; null when it was created."""
      fromStatus: String
      """The status after, often the same; null when it was deleted."""
      toStatus: String
      """As the list of REST shows it now, which may be after later changes; null if it no longer exists."""
      item: JSON
      ${RECORD_KINDS.map(
        (kind) =>
          `"""Where a record of this kind has changed: as the list of REST shows it now; null if it no longer exists."""\n      ${fieldOf(kind)}: Changed${TYPES[kind]}`,
      ).join("\n      ")}
    }
    ${RECORD_KINDS.map((kind) => contentOf(RECORDS[kind])).join("\n")}

    extend type Subscription {
      """Changes of needs, commitments and engagement claims: each committed one once, and in order."""
      changes(
        """Only records of this organization."""
        orgUri: String
        """Only this need, the commitments to it and the engagement claims that fulfil these."""
        needId: UUID
        ${AFTER}
      ): Change!
      """Changes of the organization claims that the reviewer decides."""
      claimsToReview(
        """Who reviews. Required with an API key; with a person's token it is that person."""
        adminEmail: String
        ${AFTER}
      ): Change!
    }
  `),
  objects: {
    Subscription: {
      plans: {
        changes: subscribeTo((given) => given, ["orgUri", "needId", "after"]),
        claimsToReview: subscribeTo(
          ({ adminEmail, after }) => ({
            claims: { adminEmail: adminEmail as string },
            after: after as string,
          }),
          ["adminEmail", "after"],
        ),
      },
    },
    Change: { plans: Object.fromEntries(RECORD_KINDS.map((kind) => [fieldOf(kind), itemOfKind(kind)])) },
  },
}));
