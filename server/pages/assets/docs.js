// Sends the requests of the forms of /docs: with the API key that was entered, or as the visitor who is
// signed in. The key is kept per visitor: the next one to sign in within this tab does not use it.
const KEY = `api-key ${document.querySelector("header.site").dataset.visitor}`;

const field = document.querySelector("#key input");
field.value = sessionStorage.getItem(KEY) ?? "";
field.addEventListener("change", () => sessionStorage.setItem(KEY, field.value.trim()));
document.querySelector("#key").addEventListener("submit", (event) => event.preventDefault());

for (const form of document.querySelectorAll("form.try")) {
  form.querySelector("button").hidden = false;
  const body = form.querySelector("textarea");
  form.querySelector(".examples")?.addEventListener("change", ({ target }) => {
    body.value = target.value;
    body.dataset.type = target.selectedOptions[0].dataset.type;
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void send(form);
  });
}

// A link to an operation leads into a closed <details>.
const open = () => {
  const target = document.getElementById(location.hash.slice(1));
  const closed = target?.closest("details");
  if (!closed) return;
  closed.open = true;
  closed.scrollIntoView();
};
addEventListener("hashchange", open);
open();

async function send(form) {
  const answer = form.querySelector(".answer");
  answer.replaceChildren();
  try {
    // Within the try: headers accept only Latin-1 characters, and a pasted key may have others.
    const request = requestOf(form);
    const response = await fetch(request.address, request.options);
    const text = await response.text();
    const type = response.headers.get("content-type") ?? "";
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`);
    answer.append(
      element("h4", {}, `${response.status} ${response.statusText}`),
      ...(text === "" ? [] : [preformatted("Body", pretty(text, type))]),
      folded("Headers", headers.join("\n")),
    );
  } catch (error) {
    answer.append(element("p", { className: "bad" }, `No answer: ${error.message}`));
  }
}

function requestOf(form) {
  const headers = new Headers();
  const key = sessionStorage.getItem(KEY);
  if (key) headers.set("authorization", `Bearer ${key}`);
  // Proves that a page of ours sends it, which the session cookie alone does not.
  else headers.set("x-session-request", "1");
  let path = form.dataset.path;
  const query = new URLSearchParams();
  let body;
  for (const { name, value, dataset } of form.querySelectorAll("[data-in]")) {
    if (value === "") continue;
    if (dataset.in === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (dataset.in === "header") headers.set(name, value);
    else if (dataset.in === "query") for (const each of valuesOf(dataset, value)) query.append(name, each);
    else {
      headers.set("content-type", dataset.type);
      body = value;
    }
  }
  const search = query.size > 0 ? `?${query}` : "";
  return {
    address: `${path}${search}`,
    options: { method: form.dataset.method.toUpperCase(), headers, body },
  };
}

function valuesOf({ list }, value) {
  return list === undefined ? [value] : value.split(",").map((each) => each.trim());
}

function pretty(text, type) {
  if (!type.includes("json")) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function folded(label, text) {
  const details = element("details", {}, "");
  details.append(element("summary", {}, label), preformatted(label, text));
  return details;
}

function preformatted(label, text) {
  return element("pre", { tabIndex: 0, role: "region", ariaLabel: label }, text);
}

function element(name, properties, text) {
  const made = Object.assign(document.createElement(name), properties);
  made.textContent = text;
  return made;
}
