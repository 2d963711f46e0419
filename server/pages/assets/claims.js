// The review dashboard. Everything that people wrote is put in as text, never as markup.

const PAGE = 20;
const byId = (id) => document.getElementById(id);
const message = byId("message");

/** Whom the requests name and which key they carry; kept only in memory. Undefined: they go by the session. */
let reviewer;
let offset = 0;

void goBySession();

/** Shows the claims at once to who is signed in. */
async function goBySession() {
  const { email } = await fetch("/sign-in/session").then(
    (response) => response.json(),
    () => ({ email: null }),
  );
  if (email === null) return;
  if (await showClaims()) showReview();
}

byId("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  void signIn(event.target);
});

async function signIn(form) {
  const given = new FormData(form);
  reviewer = { email: given.get("email").trim(), key: given.get("key").trim() };
  offset = 0;
  if (await showClaims()) showReview();
}

function showReview() {
  byId("sign-in").hidden = true;
  byId("review").hidden = false;
  byId("list-title").setAttribute("tabindex", "-1");
  byId("list-title").focus();
}

byId("filter").addEventListener("submit", (event) => {
  event.preventDefault();
  void turnTo(0);
});
byId("filter").elements.status.addEventListener("change", () => void turnTo(0));
byId("newer").addEventListener("click", () => void turnTo(Math.max(0, offset - PAGE)));
byId("older").addEventListener("click", () => void turnTo(offset + PAGE));

function turnTo(place) {
  offset = place;
  say("");
  return showClaims();
}

/** Loads and shows the page of claims at `offset`; true when that worked. */
async function showClaims() {
  const status = byId("filter").elements.status.value;
  const query = new URLSearchParams({ limit: PAGE, offset, ...(status && { status }) });
  try {
    const { claims, total } = await send("GET", `/v0/admin/claims?${query}`);
    byId("claims").replaceChildren(...claims.map(claimItem));
    byId("count").textContent =
      total === 0 ? "There are none." : `${offset + 1}–${offset + claims.length} of ${total}, newest first`;
    byId("newer").disabled = offset === 0;
    byId("older").disabled = offset + claims.length >= total;
    return true;
  } catch (error) {
    say(error.message, "bad");
    return false;
  }
}

function claimItem(claim) {
  const item = byId("claim").content.cloneNode(true).firstElementChild;
  const find = (selector) => item.querySelector(selector);
  const name = [claim.user_first_name, claim.user_last_name].filter(Boolean).join(" ") || claim.user_email;
  find("h3").textContent = `${name} → ${claim.org_name}`;
  find("h3").tabIndex = -1;
  const hint = find(".hint");
  const isTelling = claim.domain_match && claim.email_verified && !claim.org_domain_stated;
  hint.textContent = `${isTelling ? "✓ " : ""}${domainHint(claim)} ${
    claim.email_verified ? "They have proven that it is theirs." : "An application says that it is theirs."
  }`;
  hint.classList.toggle("good", isTelling);
  find("dl").append(
    ...facts(claim).flatMap(([label, value]) => [element("dt", label), element("dd", value)]),
  );

  const form = find("form");
  if (claim.status !== "pending") {
    form.remove();
    return item;
  }
  // A new organization needs somebody who manages it; the last role listed may do the most.
  if (claim.is_new_org) [...form.querySelectorAll("option[data-manages]")].at(-1).selected = true;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void decide(claim, name, form, event.submitter?.value ?? "approve");
  });
  return item;
}

function domainHint(claim) {
  if (claim.org_domain_stated) {
    return claim.domain_match
      ? "The e-mail address is at the domain that they say is the organization's."
      : "The e-mail address is not at a domain that they say is the organization's.";
  }
  return claim.domain_match
    ? "The e-mail address is at the organization's domain."
    : "The e-mail address is not at the organization's domain.";
}

function facts(claim) {
  const routed = claim.routed_to === "organization" ? "the organization's administrators" : "the platform";
  const all = [
    ["E-mail", claim.user_email],
    ["Organization", claim.org_uri],
    [
      claim.org_domain_stated ? "Its domain, as they say" : "Its domain",
      claim.org_domain ?? "none registered",
    ],
    ["New organization", claim.is_new_org ? "yes: does it exist, under this name, and only once?" : null],
    ["Type", claim.new_org_type],
    ["Website", claim.new_org_website],
    ["Sent to", claim.routed_to && routed],
    ["Claimed", new Date(claim.created_at).toLocaleString()],
    ["Status", claim.status === "pending" ? null : claim.status],
    ["Reviewed by", claim.reviewed_by],
    ["Reviewed", claim.reviewed_at && new Date(claim.reviewed_at).toLocaleString()],
    ["Notes", claim.review_notes],
  ];
  return all.filter(([, value]) => value);
}

async function decide(claim, name, form, action) {
  const problem = form.querySelector(".problem");
  const notes = form.elements.notes.value.trim();
  problem.textContent = "";
  if (action === "reject" && !notes) {
    problem.textContent = "Say why: the person will be told.";
    form.elements.notes.focus();
    return;
  }
  const buttons = form.querySelectorAll("button");
  for (const button of buttons) button.disabled = true;
  try {
    const { newStatus, warnings } = await send("POST", "/v0/admin/claims/review", {
      claimId: claim.id,
      action,
      ...(reviewer && { adminEmail: reviewer.email }),
      ...(notes && { notes }),
      ...(action === "approve" && { role: form.elements.role.value }),
    });
    // The page may have become empty.
    if (offset > 0 && byId("claims").children.length === 1) offset -= PAGE;
    await showClaims();
    say(
      `The claim of ${name} to ${claim.org_name} is ${newStatus}. They will get an e-mail.` +
        warnings.map((warning) => ` ${warning.message}`).join(""),
    );
    message.focus();
  } catch (error) {
    problem.textContent = error.message;
    for (const button of buttons) button.disabled = false;
  }
}

/** Sends a request; throws an Error whose message a person can act on. */
async function send(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: {
        ...(reviewer
          ? { authorization: `Bearer ${reviewer.key}`, "x-admin-email": reviewer.email }
          : { "x-session-request": "1" }),
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  } catch (cause) {
    throw new Error("The service did not answer; try again.", { cause });
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.message ?? `The service answered ${response.status}.`);
  return answer;
}

function say(text, kind = "") {
  message.textContent = text;
  message.className = kind;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
