// What the forms of the pages send from a browser, what they keep of it, and what they say.
import type { Mistake } from "../mistake.ts";
import { inQueue } from "./desk-scripts.ts";

type Slip = [rule: string, before: string, after: string];

/** Of a script of the queue. */
const inForms = (script: string, only: string, ...slips: Slip[]): Mistake[] =>
  slips.map((slip) => ({ ...inQueue(script, only, ...slip), tests: ["claims-forms"] }));

const inReference = (...slips: Slip[]): Mistake[] =>
  slips.map(([rule, before, after]) => ({
    ...{ rule, file: "server/pages/assets/docs.js", before, after },
    ...{ tests: ["docs-page"], only: "sent as it is described" },
  }));

const ALONE = "a decision is sent with its action";
const SEVERAL = "several are decided with one role";
const NEXT = "after a decision comes the next claim";
const REASON = "a reason that is chosen";
const LINKS = "links lead where they would";
const WAITS = "what is told of a claim that still waits";
const KEYS = "who has switched the keys off";
const LOST = "an earlier page lost leads back";

export const FORMS_SENT: readonly Mistake[] = [
  ...inReference(
    ["a key is sent without the blanks around it", "field.value.trim())", "field.value)"],
    [
      "the key that was entered is shown when the page is loaded again",
      'field.value = sessionStorage.getItem(KEY) ?? "";\n',
      "",
    ],
    [
      "to enter a key leaves the answers that are on the page",
      'document.querySelector("#key").addEventListener("submit", (event) => event.preventDefault());\n',
      "",
    ],
    ["an answer stands in the place of the one before", "  answer.replaceChildren();\n", ""],
    ["an answer's headers are shown", '      folded("Headers", headers.join("\\n")),\n', ""],
    [
      "of an answer without a body none is shown",
      '...(text === "" ? [] : [preformatted("Body", pretty(text, type))]),',
      'preformatted("Body", pretty(text, type)),',
    ],
    [
      "what is for a header is sent in it",
      'else if (dataset.in === "header") headers.set(name, value);\n',
      'else if (dataset.in === "header") continue;\n',
    ],
    ["each item of a list is sent", "query.append(name, each)", "query.set(name, each)"],
    [
      "a body is sent as what it is",
      'headers.set("content-type", dataset.type);',
      'headers.set("content-type", "application/json");',
    ],
    ["a method is in capitals, as it is sent", "form.dataset.method.toUpperCase()", "form.dataset.method"],
  ),
  ...inForms(
    "deciding",
    ALONE,
    [
      "a reason is sent without the blanks around it",
      "    notes: notes.value.trim(),\n",
      "    notes: notes.value,\n",
    ],
    ["whoever has to say why is where they say it", "    notes.focus();\n    return;", "    return;"],
    ["the role that was chosen is given", "role: role.value", 'role: "org_member"'],
  ),
  ...inForms(
    "hold",
    ALONE,
    ["only who is approved gets a role", '...(action === "approve" && { role })', "role"],
    ["who decides is named, whoever is signed in by then", "adminEmail: by, ", ""],
    [
      "no role is named of who is rejected",
      'first.action === "approve" ? ` as ${first.role}` : ""',
      "` as ${first.role}`",
    ],
    [
      "what became of a decision is said to who does not see it",
      '  say(...results.flatMap((line) => [...line.firstChild.cloneNode(true).childNodes, " "]));\n',
      "",
    ],
    [
      "where nothing is held there is no list of it",
      'section().hidden = section().querySelector("li") === null;',
      "section().hidden = false;",
    ],
  ),
  ...inForms(
    "deciding",
    SEVERAL,
    ["what was wrong is said no more once it is right", '  problem.textContent = "";\n', ""],
    ["the note about several is not that about the next", '    forgetDraft("several");\n', ""],
    ["what is undone is a draft again", '  keepDraft("several", notes);\n', ""],
    ["what is held looks so in the list", '    line.classList.toggle("held", held);\n', ""],
    [
      "whoever has chosen none is told to choose",
      'isAlone ? "This claim is being decided." : "Choose claims in the list."',
      '"This claim is being decided."',
    ],
    [
      "several are chosen once",
      '    for (const box of form.querySelectorAll("[name=claim]:checked")) box.checked = false;\n',
      "",
    ],
  ),
  ...inForms(
    "deciding",
    NEXT,
    [
      "the next claim is none that is held",
      'line.hasAttribute("data-decidable") && !isHeld(line.dataset.claim)',
      'line.hasAttribute("data-decidable")',
    ],
    ["after the last claim comes one before it", "earlier?.querySelector", "undefined?.querySelector"],
  ),
  ...inForms(
    "drafts",
    REASON,
    ["to have chosen no reason leaves what is written", '|| target.value === "") return;', ") return;"],
    ["a reason can be chosen twice", '    target.value = "";\n', ""],
    ["after a reason comes what is written of it", "    notes.focus();\n", ""],
    ["a draft that is emptied is none", 'if (text === "") forgetDraft(of);\n  else ', ""],
  ),
  ...inForms(
    "turning",
    LINKS,
    ["a page of another site is none of the queue", "origin === location.origin && ", ""],
    ["a link within the page is followed by the browser", '|| link.getAttribute("href").startsWith("#")', ""],
    ["no empty filter is in the address", 'filter(([, value]) => value !== "")', "filter(() => true)"],
    ["a fragment is no other page", "if (here() !== shown) void", "void"],
    ["only the pages of the queue are", "claims(\\/|$)/", "claims/"],
  ),
  ...inForms(
    "live",
    WAITS,
    ["a claim that still waits can still be chosen", 'toStatus !== "pending" && item', "record"],
    [
      "of whom nothing is known nothing is said",
      "item.reviewed_by ? `${toStatus} by ${item.reviewed_by}` : toStatus",
      "`${toStatus} by ${item.reviewed_by}`",
    ],
  ),
  ...inForms(
    "deciding",
    WAITS,
    ["what is decided cannot be decided", '  line.removeAttribute("data-decidable");\n', ""],
    ["what is decided cannot be chosen", '  line.querySelector("[name=claim]")?.remove();\n', ""],
  ),
  ...inForms(
    "keys",
    KEYS,
    ["who has switched the keys on again has them", 'use.checked ? "on" : "off"', '"off"'],
    [
      "who has switched the keys off sees so",
      'use.checked = localStorage.getItem(SETTING) !== "off";',
      "use.checked = true;",
    ],
    ["keys are keys on a box too", "input:not([type=checkbox]), textarea", "input, textarea"],
    ["a key that is one writes nothing", "    event.preventDefault();\n", ""],
  ),
  ...inForms("deciding", LOST, [
    "a page that the browser brings back looks for what it lost",
    '  addEventListener("pageshow", ({ persisted }) => persisted && lookForLost(tellOfLost));\n',
    "",
  ]),
  ...inForms(
    "hold",
    LOST,
    [
      "a lost decision is said to who does not see it",
      "  say(...said.map((part) => part.cloneNode?.(true) ?? part));\n",
      "",
    ],
    [
      "from a lost decision a link leads to its claim",
      "{ href: `/admin/claims/${id}` }",
      '{ href: "/admin/claims" }',
    ],
  ),
];
