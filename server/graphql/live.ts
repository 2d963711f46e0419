// Subscriptions of the schema: what has changed, as it changes (server/live).
import { choices } from "../../db/catalog.ts";
import { context, get, lambda, listen, object } from "postgraphile/grafast";
import type { FieldArgs, GrafastSubscriber, Step } from "postgraphile/grafast";
import { parse } from "postgraphile/graphql";
import { extendSchema } from "postgraphile/utils";
import type { Change } from "../live/channel.ts";
import type { Topic } from "../live/feed.ts";

/** By what is wanted, which is a Topic as JSON. */
type Topics = Record<string, Change>;

const AFTER = `
    """
    The position of the last event that you have: those after it come first, without a gap. Left out: only what changes from
    now on. One of more than 30 days ago is refused with \`changes_expired\`.
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

/** The plugin that adds the type Subscription. */
export const LivePlugin = extendSchema(() => ({
  typeDefs: parse(`
    """What a change is of."""
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
      position: String!
      """What it is of."""
      kind: ChangedKind!
      """The \`needId\`, \`commitmentId\` or \`claimId\` of what changed."""
      changedId: UUID!
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
      """The status since, often the same; null when it was deleted."""
      toStatus: String
      """As the list of REST shows it now, which may be after later changes; null when it is not there any more."""
      record: JSON
    }

    extend type Subscription {
      """Changes of needs, commitments and engagement claims: each committed one once, and in order."""
      changes(
        """Only records of this organization."""
        orgUri: String
        """Only this need, the commitments to it and the engagement claims that fulfil these."""
        needId: UUID
        ${AFTER}
      ): Change!
      """Changes of the organization claims that one reviews."""
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
    Change: { plans: { changedId: ($event: Step) => get($event as Step<Change>, "id") } },
  },
}));
