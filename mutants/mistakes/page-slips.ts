// What was left after the parts of pages: their scripts and examples, and the operator's tool as people read it.
import type { Mistake } from "../mistake.ts";

const slip = (
  file: string,
  [test, only]: [string, string],
  ...[rule, before, after]: [string, string, string]
): Mistake => ({ rule, file, before, after, tests: [test], only });

export const PAGE_SLIPS: readonly Mistake[] = [
  slip(
    "server/pages/assets/claims/live.js",
    ["claims-script", "nobody looks at"],
    "a tab that nobody looks at asks the service for nothing",
    "document.hidden || (await read())",
    "await read()",
  ),
  slip(
    "server/pages/assets/claims/kept.js",
    ["claims-script", "that is gone"],
    "a claim that is gone is not asked for again by every page",
    'response.status === 404 || page.getElementById("claim")',
    'page.getElementById("claim")',
  ),
  slip(
    "server/pages/assets/docs.js",
    ["docs-page", "example that is chosen"],
    "an example of the API reference is sent as what it is",
    "    body.dataset.type = target.selectedOptions[0].dataset.type;\n",
    "",
  ),
  slip(
    "server/pages/assets/docs.js",
    ["docs-page", "no header can carry"],
    "why the API reference could not send anything is told",
    'answer.append(element("p", { className: "bad" }, `No answer: ${error.message}`));',
    "",
  ),
  slip(
    "server/pages/sparql/examples.ts",
    ["sparql-page", "find in the demo"],
    "the latest need is the one that was declared last",
    "ORDER BY DESC(?at)\nLIMIT 1",
    "ORDER BY ?at\nLIMIT 1",
  ),
  slip(
    "server/pages/sparql/examples.ts",
    ["sparql-page", "find in the demo"],
    "work of others is not that of the same organization",
    "FILTER(?by != ?committed)",
    "FILTER(?by = ?committed)",
  ),
  slip(
    "server/pages/sparql/examples.ts",
    ["sparql-page", "find in the demo"],
    "a commitment is shown before any work is attested",
    "  OPTIONAL {\n    ?attestation ns:fulfillsCommitment ?commitment ; ns:attestationDescription ?done\n  }",
    "  ?attestation ns:fulfillsCommitment ?commitment ; ns:attestationDescription ?done",
  ),
  slip(
    "server/pages/claims/decision.ts",
    ["claim-decisions", "end where something has failed"],
    "a decision that failed was not refused",
    "    if (refusal.statusCode >= 500) throw error;\n",
    "",
  ),
  slip(
    "server/pages/claims/page.ts",
    ["claim-decisions", "end where something has failed"],
    "what is no id in an address of the queue is passed over",
    '.split(",").filter(isId)',
    '.split(",").filter(Boolean)',
  ),
  slip(
    "admin/users.ts",
    ["membership-cli", "given platform roles"],
    "of whom every role was taken it is told that there is none left",
    ' || "without a role"',
    "",
  ),
  slip(
    "admin/keys.ts",
    ["cli", "can have bounds"],
    "the list of keys tells of bounds to networks",
    '    ...count(networks, "network"),\n',
    "",
  ),
  slip(
    "admin/sessions.ts",
    ["sessions", "operator's tool, which"],
    "the list of sessions tells how somebody has signed in",
    'row.issuer ?? "a link by mail"',
    'row.issuer ?? "-"',
  ),
];
