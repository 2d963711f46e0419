// What the desk gives back of what was written there, and what it says of a decision that comes twice.
import type { Mistake } from "../mistake.ts";

type Slip = [rule: string, before: string, after: string, only: string];
const slips = (file: string, tests: string, ...all: Slip[]): Mistake[] =>
  all.map(([rule, before, after, only]) => ({ rule, file, before, after, tests: [tests], only }));

export const DESK_WORDS: readonly Mistake[] = [
  ...slips(
    "server/pages/written.ts",
    "pages",
    [
      "what was written is given back, of however many words it is",
      'text.trim() !== ""',
      "/\\s/.test(text.trim())",
      "whose session is over keeps",
    ],
    ["what was left empty is not given back", ' && text.trim() !== ""', "", "of each form all is given back"],
    [
      "another site's form brings no words to a page",
      '  if (!isFromOwnPage(request)) return "";\n',
      "",
      "another site's form brings nothing",
    ],
    ["a note is given back", '"notes", "reason"', '"reason"', "of each form all is given back"],
    ["a reason that was chosen is given back", '"notes", "reason"', '"notes"', "whose session is over keeps"],
    ["a query is given back", '"query", "email"', '"email"', "of each form all is given back"],
    ["an address is given back", '"query", "email"', '"query"', "of each form all is given back"],
    ["what somebody does is given back", ', "duty"', "", "of each form all is given back"],
    ["a website is given back", '"website", ', "", "of each form all is given back"],
    [
      "a hidden field is nobody's words",
      '"query", "email"',
      '"query", "email", "claim"',
      "of each form all is",
    ],
    [
      "what was there before is nobody's words",
      "text !== fields(before(name))[0] && ",
      "",
      "of each form all is given back",
    ],
  ),
  {
    rule: "whoever is refused is given back what they wrote",
    file: "server/pages/refusal.ts",
    before: " ${written(request)}",
    after: "",
    tests: ["pages"],
    only: "signed in anew",
  },
  ...slips(
    "db/rules/claim-queue.sql",
    "claim-decisions",
    [
      "what somebody else has decided is not said to be done",
      " and lower(u.email) = lower(app_private.current_person())\n      and c.status = (case",
      "\n      and c.status = (case",
      "second time",
    ],
    [
      "a claim that was approved is not said to be rejected",
      "when 'approve' then 'approved' when 'reject' then 'rejected' end)::",
      "when 'approve' then 'approved' when 'reject' then 'approved' end)::",
      "twice",
    ],
    [
      "a claim that was approved is not said to be rejected too",
      "      and c.status = (case action when 'approve' then 'approved' when 'reject' then 'rejected' end)::app_public.organization_claim_status\n",
      "",
      "second time",
    ],
    [
      "other notes make another decision",
      "      and c.review_notes is not distinct from app_private.trimmed(notes)\n",
      "",
      "second time",
    ],
    [
      "a decision without notes can come twice",
      "c.review_notes is not distinct from app_private.trimmed(notes)",
      "c.review_notes = app_private.trimmed(notes)",
      "second time",
    ],
    [
      "white space around notes makes no other decision",
      "is not distinct from app_private.trimmed(notes)",
      "is not distinct from notes",
      "twice",
    ],
    [
      "another role makes another decision",
      "(action = 'reject' or coalesce(c.asked_role, c.granted_role) = coalesce(role, app_private.usual_role()))",
      "true",
      "second time",
    ],
    [
      "who rejects gives no role",
      "(action = 'reject' or coalesce(c.asked_role, c.granted_role)",
      "(c.granted_role",
      "twice",
    ],
    [
      "a role that is left out is that of a member the second time too",
      "c.granted_role) = coalesce(role, app_private.usual_role())",
      "c.granted_role) = role",
      "second time",
    ],
    [
      "nobody is told of a claim that they may not review",
      "    from app_private.claims_to_review() as c\n    join app_public.users as u on u.user_id = c.reviewed_by\n    where c.claim_id = has",
      "    from app_public.organization_claims as c\n    join app_public.users as u on u.user_id = c.reviewed_by\n    where c.claim_id = has",
      "second time",
    ],
  ),
  ...slips(
    "server/pages/claims/decision.ts",
    "claim-decisions",
    [
      "a decision that comes twice is made once and answered alike",
      '    if (refusal.code === "already_reviewed" && (await hasDecidedSo(visit, input))) return undefined;\n',
      "",
      "twice",
    ],
    [
      "a claim that is decided otherwise is not said to be done",
      " && (await hasDecidedSo(visit, input))) return",
      ") return",
      "second time",
    ],
    [
      "who decides several is told of what is left to be done about those that worked",
      "{ refused, on: told }) : told",
      "{ refused, on }) : told",
      "several at once",
    ],
    [
      "who is refused to decide is given back their note",
      "\n      ${written(exchange.request)}",
      "",
      "second time",
    ],
  ),
];
