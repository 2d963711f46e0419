// The texts of mails. Names, notes and organizations come from strangers: here they are text, never markup,
// and never more than one line where one line is meant.

import { html } from "hono/html";
import { choices, linkLasts } from "../db/catalog.ts";

/** The data for a mail about an organization claim: app_private.claim_mail_data. */
export type ClaimMailData = {
  claimId: string;
  orgName: string;
  orgUri: string;
  isNewOrg: boolean;
  newOrgType?: string;
  newOrgWebsite?: string;
  orgDomain?: string;
  domainMatch: boolean;
  /** missing, like emailVerified, from mails that were already waiting when it was introduced */
  orgDomainStated?: boolean;
  emailVerified?: boolean;
  claimantEmail: string;
  claimantName?: string;
  statedRoles?: string[];
  /**
   * whether the recipient gets no further mail about claims for a while; missing if not, and from older mails
   */
  isLast?: boolean;
  role?: string;
  /** the title of the role; missing from mails that were already waiting when it was introduced */
  roleTitle?: string;
  /** true if the claimant already was a member and is suspended, which an approval does not change; otherwise absent */
  isSuspended?: boolean;
  notes?: string;
};

/** The data for a mail with a link to sign in: app_private.send_link. */
type LinkMailData = { link: string };

/** The data for a mail with a link to confirm claims: app_private.ask_for_proof. The link is a path here. */
type ConfirmMailData = { link: string; orgName?: string };

export type MailData = ClaimMailData | LinkMailData | ConfirmMailData;

export const MAIL_KINDS = choices["mails.kind"];
export type MailKind = (typeof MAIL_KINDS)[number];

/** A mail as it is sent. */
export type MailText = { subject: string; text: string; html: string };

/** The parts of a mail, from top to bottom. */
type Part =
  { text: string } | { quote: string } | { facts: [label: string, value: string][] } | { link: string };

// In characters. A subject names a person and an organization.
const LONGEST_LINE = 200;
const LONGEST_IN_SUBJECT = 80;

/**
 * Composes a mail.
 * @param recipientName how the person is greeted
 * @param platformUrl of the dashboard, without a trailing slash
 */
export function composeMail(
  kind: MailKind,
  data: MailData,
  recipientName: string | null,
  platformUrl: string,
): MailText {
  // Which data a kind has is decided where the mail is written: db/rules.
  const { subject, parts } = COMPOSERS[kind](data as AnyMailData, platformUrl);
  const greeting = recipientName ? `Hello ${line(recipientName)},` : "Hello,";
  const all: Part[] = [{ text: greeting }, ...parts, { text: "Engagement Graph" }];
  return {
    subject: line(subject),
    text: `${all.map(asText).join("\n\n")}\n`,
    html: `<!doctype html>\n<html lang="en"><body>\n${all.map(asHtml).join("\n")}\n</body></html>\n`,
  };
}

type AnyMailData = ClaimMailData & LinkMailData & ConfirmMailData;
type Composer = (data: AnyMailData, platformUrl: string) => { subject: string; parts: Part[] };

const COMPOSERS: Record<MailKind, Composer> = {
  sign_in: ({ link }) => ({
    subject: "Your link to sign in",
    parts: [
      {
        text: `Open this link in the browser in which you asked for it, within ${linkLasts.sign_in}. It works once:`,
      },
      { link },
      {
        text: "If you did not ask for it, ignore this mail: the link works only in that browser.",
      },
    ],
  }),

  confirm_claim: ({ link, orgName }, platformUrl) => ({
    subject: "Please confirm your e-mail address",
    parts: [
      {
        text: `Somebody has asked in your name to join ${orgName === undefined ? "a new organization" : line(orgName)}. Was it you? Then open this page within ${linkLasts.confirm_claim}, and confirm it there:`,
      },
      { link: `${platformUrl}${link}` },
      { text: "If it was not you, there is nothing you need to do." },
    ],
  }),

  claim_approved: (data) => {
    if (data.isSuspended) return approvedYetSuspended(data);
    const org = line(data.orgName);
    return {
      subject: `Welcome: you now belong to ${inSubject(data.orgName)}`,
      parts: [
        { text: `Your request to join ${org} has been approved.${roleSentence(data)}` },
        ...reviewersWords(data),
        { text: "There is nothing else you need to do." },
      ],
    };
  },

  claim_rejected: (data) => {
    const org = line(data.orgName);
    return {
      subject: `Your request to join ${inSubject(data.orgName)}`,
      parts: [
        { text: `Your request to join ${org} has been reviewed, and it was not approved.` },
        { text: "The person who reviewed it wrote:" },
        { quote: data.notes ?? "" },
        { text: "If you think that this is a mistake, you are welcome to send a new request." },
      ],
    };
  },

  claim_request: (data, platformUrl) => {
    const org = line(data.orgName);
    return {
      subject: `${inSubject(data.claimantName ?? data.claimantEmail)} asks to join ${inSubject(data.orgName)}`,
      parts: [
        { text: `Somebody says that they belong to ${org}, and you manage its members:` },
        { facts: claimantFacts(data) },
        {
          text: "Do you know this person? Please approve the request, or reject it with a short explanation:",
        },
        { link: `${platformUrl}/admin/claims/${data.claimId}` },
        ...lastOfMany(data, platformUrl),
      ],
    };
  },

  claim_queue: (data, platformUrl) => {
    const org = line(data.orgName);
    return {
      subject: `${data.isNewOrg ? "New organization" : "Claim"} to review: ${inSubject(data.orgName)}`,
      parts: [
        {
          text: data.isNewOrg
            ? "Somebody has proposed a new organization and asks to join it:"
            : "Somebody asks to join an organization that has no administrator yet:",
        },
        {
          facts: [
            ["Organization", org],
            ["URI", line(data.orgUri)],
            ...(data.newOrgType ? [["Type", line(data.newOrgType)] as [string, string]] : []),
            ...(data.newOrgWebsite ? [["Website", line(data.newOrgWebsite)] as [string, string]] : []),
            ...claimantFacts(data),
          ],
        },
        { text: "It is waiting for a reviewer:" },
        { link: `${platformUrl}/admin/claims/${data.claimId}` },
        ...lastOfMany(data, platformUrl),
      ],
    };
  },
};

/** For a claimant who already was a member, and is suspended: the approval does not change that. */
function approvedYetSuspended(data: ClaimMailData): ReturnType<Composer> {
  return {
    subject: `Your request to join ${inSubject(data.orgName)}`,
    parts: [
      {
        text: `Your request to join ${line(data.orgName)} has been approved, but your membership there is suspended, and you cannot act for it.`,
      },
      ...reviewersWords(data),
      { text: "Somebody who manages its members can lift the suspension." },
    ],
  };
}

function reviewersWords({ notes }: ClaimMailData): Part[] {
  return notes ? [{ text: "The person who reviewed your request wrote:" }, { quote: notes }] : [];
}

function lastOfMany({ isLast }: ClaimMailData, platformUrl: string): Part[] {
  if (!isLast) return [];
  return [
    {
      text: "There have been many requests in the last 24 hours, so you will get no more mails about them for now. See all of them at",
    },
    { link: `${platformUrl}/admin/claims` },
  ];
}

function roleSentence({ role, roleTitle }: ClaimMailData): string {
  return role && roleTitle ? ` Your role there is now ${roleTitle} (${role}).` : "";
}

function claimantFacts(data: ClaimMailData): [string, string][] {
  const match = data.domainMatch
    ? "the e-mail address is in this domain"
    : "the e-mail address is in another domain, or in a mail provider's";
  const source = data.orgDomainStated ? "as stated by them; " : "";
  const proof = data.emailVerified
    ? "proven: they signed in with it, or answered a mail to it"
    : "not proven: an application says that it is theirs";
  return [
    ["Name", line(data.claimantName ?? "not given")],
    ["E-mail", `${line(data.claimantEmail)} (${proof})`],
    [
      "Domain",
      data.orgDomain
        ? `${line(data.orgDomain)} (${source}${match})`
        : "the organization has not registered one",
    ],
    ...(data.statedRoles?.length
      ? [["Role, as they put it", line(data.statedRoles.join(", "))] as [string, string]]
      : []),
  ];
}

/** A text as one line of limited length, without line breaks, control characters, or changes of direction. */
function line(text: string, longest = LONGEST_LINE): string {
  const one = text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
  const characters = Array.from(one);
  return characters.length > longest ? `${characters.slice(0, longest - 1).join("")}…` : one;
}

function inSubject(text: string): string {
  return line(text, LONGEST_IN_SUBJECT);
}

function quotedLines(text: string): string[] {
  return text
    .split(/\r\n|[\r\n\u2028\u2029]/)
    .map((one) => one.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, ""));
}

function asText(part: Part): string {
  if ("quote" in part)
    return quotedLines(part.quote)
      .map((one) => `> ${one}`)
      .join("\n");
  if ("facts" in part) return part.facts.map(([label, value]) => `  ${label}: ${value}`).join("\n");
  return "link" in part ? part.link : part.text;
}

/** Never a promise: nothing that is inserted is one. */
const markup = (...parts: Parameters<typeof html>): string => html(...parts) as string;

function asHtml(part: Part): string {
  if ("quote" in part) {
    const lines = quotedLines(part.quote).map((line) => markup`${line}`);
    return `<blockquote>${lines.join("<br>")}</blockquote>`;
  }
  if ("facts" in part) {
    return `<ul>${part.facts.map(([label, value]) => markup`<li>${label}: ${value}</li>`).join("")}</ul>`;
  }
  if ("link" in part) return markup`<p><a href="${part.link}">${part.link}</a></p>`;
  return markup`<p>${part.text}</p>`;
}
