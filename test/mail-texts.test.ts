// What each mail says to whom, and what it makes of what strangers write.
import { describe, expect, test } from "@jest/globals";
import { composeMail, MAIL_KINDS } from "../worker/mail-texts.ts";
import type { ClaimMailData, MailKind } from "../worker/mail-texts.ts";

const PLATFORM = "https://platform.example";
const data: ClaimMailData = {
  ...{ claimId: "c1", orgName: "River Mission", orgUri: "https://data.example/org/river", isNewOrg: false },
  ...{ domainMatch: true, orgDomain: "river.example", emailVerified: true },
  ...{ claimantEmail: "ana@river.example", claimantName: "Ana Silva" },
};
const compose = (kind: MailKind, more: object = {}, name: string | null = "Ben") =>
  composeMail(kind, { ...data, ...more }, name, PLATFORM);

describe("a mail", () => {
  test("greets by name, or without one", () => {
    expect(compose("claim_approved").text).toMatch(/^Hello Ben,\n\n/);
    expect(compose("claim_approved", {}, null).text).toMatch(/^Hello,\n\n/);
    expect(compose("claim_approved", {}, null).text).toMatch(/\n\nEngagement Graph\n$/);
  });

  test("to sign in has its link as it is; one to confirm has a path on the platform, and says for how long", () => {
    const signIn = compose("sign_in", { link: "https://service.example/sign-in?a=1&b=2" });
    expect(signIn.text).toContain("within 15 minutes");
    expect(signIn.text).toContain("\n\nhttps://service.example/sign-in?a=1&b=2\n\n");
    expect(signIn.html).toContain('<a href="https://service.example/sign-in?a=1&amp;b=2">');
    const confirm = compose("confirm_claim", { link: "/confirm?x", orgName: "River" });
    expect(confirm.text).toContain("to join River. Was it you? Then open this page within 7 days");
    expect(confirm.text).toContain(`\n\n${PLATFORM}/confirm?x\n\n`);
    expect(compose("confirm_claim", { link: "/x", orgName: undefined }).text).toContain(
      "a new organization.",
    );
  });

  test("of an approval tells the role and what the reviewer wrote, where there is either", () => {
    const { subject, text } = compose("claim_approved", {
      ...{ role: "org_admin", roleTitle: "administrator", notes: "Welcome!" },
    });
    expect(subject).toBe("Welcome: you now belong to River Mission");
    expect(text).toContain("has been approved. Your role there is now administrator (org_admin).");
    expect(text).toContain("wrote:\n\n> Welcome!\n\nThere is nothing else you need to do.");
    const bare = compose("claim_approved", { role: "org_admin" }).text;
    expect(bare).toContain("has been approved.\n\nThere is nothing else");
  });

  test("of an approval that meets a suspended membership does not say that somebody belongs there", () => {
    const { subject, text } = compose("claim_approved", {
      ...{ role: "org_admin", roleTitle: "administrator", notes: "Write to us.", isSuspended: true },
    });
    expect(subject).toBe("Your request to join River Mission");
    expect(text).toContain("has been approved, but your membership there is suspended");
    expect(text).toContain("wrote:\n\n> Write to us.\n\n");
    expect(text).not.toMatch(/administrator|nothing else/);
  });

  test("of a rejection tells the reason, and no role", () => {
    const { subject, text } = compose("claim_rejected", { notes: "No.\r\nWrite to us." });
    expect(subject).toBe("Your request to join River Mission");
    expect(text).toContain(
      "it was not approved.\n\nThe person who reviewed it wrote:\n\n> No.\n> Write to us.\n\n",
    );
  });

  test("to administrators leads to the claim and tells who asks", () => {
    const { subject, text } = compose("claim_request", { statedRoles: ["driver", "cook"] });
    expect(subject).toBe("Ana Silva asks to join River Mission");
    expect(text).toContain(`\n\n${PLATFORM}/admin/claims/c1\n\n`);
    expect(text).toContain("  Name: Ana Silva\n");
    expect(text).toContain("  Role, as they put it: driver, cook");
    const unnamed = compose("claim_request", { claimantName: undefined, statedRoles: [] });
    expect(unnamed.subject).toBe("ana@river.example asks to join River Mission");
    expect(unnamed.text).toContain("  Name: not given\n");
    expect(unnamed.text).not.toContain("Role, as they put it");
  });

  test.each([
    ["proven", { emailVerified: true }, "E-mail: ana@river.example (proven: they signed in with it"],
    ["not proven", { emailVerified: false }, "E-mail: ana@river.example (not proven: an application says"],
    ["unknown to an older version", { emailVerified: undefined }, "(not proven:"],
    ["in the domain", { domainMatch: true }, "Domain: river.example (the e-mail address is in this domain)"],
    [
      "in another domain",
      { domainMatch: false },
      "Domain: river.example (the e-mail address is in another domain",
    ],
    [
      "in a domain that they name",
      { orgDomainStated: true },
      "Domain: river.example (as stated by them; the e-mail",
    ],
    ["of no domain", { orgDomain: undefined }, "Domain: the organization has not registered one"],
  ])("to administrators tells what is known of an address that is %s", (_, more, fact) => {
    expect(compose("claim_request", more).text).toContain(fact);
    expect(compose("claim_queue", more).text).toContain(fact);
  });

  test.each(["claim_request", "claim_queue"] as const)(
    "after which no more come for a while says so, and where all claims are: %s",
    (kind) => {
      const { text } = compose(kind, { isLast: true });
      expect(text).toContain(
        `you will get no more mails about them for now. See all of them at\n\n${PLATFORM}/admin/claims\n\n`,
      );
      expect(compose(kind).text).not.toMatch(/no more mails|\/admin\/claims\n/);
    },
  );

  test("to reviewers tells a new organization from one that is there", () => {
    const known = compose("claim_queue");
    expect(known.subject).toBe("Claim to review: River Mission");
    expect(known.text).toContain("an organization that has no administrator yet");
    expect(known.text).not.toMatch(/Type:|Website:/);
    expect(known.text).toContain(`${PLATFORM}/admin/claims/c1`);
    const proposed = compose("claim_queue", {
      ...{ isNewOrg: true, newOrgType: "network", newOrgWebsite: "https://river.example" },
    });
    expect(proposed.subject).toBe("New organization to review: River Mission");
    expect(proposed.text).toContain("has proposed a new organization");
    for (const fact of [
      "Organization: River Mission",
      `URI: ${data.orgUri}`,
      "Type: network",
      "Website: https://river.example",
    ]) {
      expect(proposed.text).toContain(`  ${fact}\n`);
      expect(proposed.html).toContain(`<li>${fact}</li>`);
    }
  });
});

describe("what strangers write", () => {
  const nameIn = (orgName: string) => {
    const { subject, text } = compose("claim_rejected", { orgName, notes: "x" });
    return {
      subject: subject.replace("Your request to join ", ""),
      text: / to join (.*) has been reviewed/.exec(text)![1]!,
    };
  };

  test("is cut where it is longer than a line, or its part of a subject, between whole characters", () => {
    expect(nameIn("n".repeat(80)).subject).toBe("n".repeat(80));
    expect(nameIn("n".repeat(81)).subject).toBe(`${"n".repeat(79)}…`);
    expect(nameIn("n".repeat(200)).text).toBe("n".repeat(200));
    expect(nameIn("n".repeat(201)).text).toBe(`${"n".repeat(199)}…`);
    expect(nameIn("🌊".repeat(200)).text).toBe("🌊".repeat(200));
    expect(nameIn("🌊".repeat(81)).subject).toBe(`${"🌊".repeat(79)}…`);
  });

  test("is one line where one is meant, and none that reads backwards", () => {
    for (const mark of [
      "\n",
      "\r\n",
      "\u0007",
      "\u2028",
      "\u2029",
      "\u061c",
      "\u200e",
      "\u200f",
      "\u202e",
      "\u2066",
      "\u2069",
    ]) {
      expect(nameIn(` a${mark}b  c${mark}d `)).toEqual({ subject: "a b c d", text: "a b c d" });
    }
  });

  test("is one line in each place of each mail, where it would otherwise add paragraphs and links of its own", () => {
    const two = "Ana\n\nSee https://elsewhere.example";
    const facts = { orgName: two, orgUri: two, newOrgType: two, newOrgWebsite: two, orgDomain: two };
    const theirs = { ...facts, claimantEmail: two, claimantName: two, statedRoles: [two, two] };
    for (const kind of MAIL_KINDS) {
      const { subject, text } = compose(kind, { ...theirs, isNewOrg: true, link: "/x" }, two);
      const lines = [subject, ...text.split("\n")];
      expect([kind, lines.filter((line) => line.startsWith("See "))]).toEqual([kind, []]);
      expect(text).toContain("Hello Ana See https://elsewhere.example,\n");
    }
  });

  test("is quoted line by line, whichever way lines end, without what cannot be seen", () => {
    const { text, html } = compose("claim_rejected", {
      notes: "a\r\nb\nc\rd\u2028e\u2029f\u0007\u202e\u2067g",
    });
    expect(text).toContain("\n\n> a\n> b\n> c\n> d\n> e\n> fg\n\n");
    expect(html).toContain("<blockquote>a<br>b<br>c<br>d<br>e<br>fg</blockquote>");
  });

  test("is text in HTML, in each kind of part", () => {
    const nasty = `<a href="x">'&'</a>`;
    const escaped = "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;";
    const quoted = compose("claim_approved", { notes: nasty, orgName: nasty });
    expect(quoted.html).toContain(`<blockquote>${escaped}</blockquote>`);
    expect(quoted.html).toContain(`<p>Your request to join ${escaped} has`);
    expect(compose("claim_request", { claimantName: nasty }).html).toContain(`<li>Name: ${escaped}</li>`);
    expect(compose("sign_in", { link: nasty }).html).toContain(`<a href="${escaped}">${escaped}</a>`);
  });
});
