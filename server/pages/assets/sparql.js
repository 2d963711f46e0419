// The editor of /sparql, in place of its text field, which stays hidden and keeps the text for the form.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { Decoration, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { sparql } from "codemirror-lang-sparql";

const field = document.querySelector("#query textarea");
const form = field.closest("form");

// Colours as custom properties, which are inherited into the shadow root.
const look = EditorView.theme({
  "&": {
    maxHeight: "32rem",
    marginTop: "0.25rem",
    fontWeight: "400",
    border: "1px solid var(--line)",
    borderRadius: "0.3rem",
    background: "var(--back)",
    color: "var(--text)",
  },
  "&.cm-focused": { outline: "3px solid var(--main)", outlineOffset: "2px" },
  ".cm-scroller": { fontFamily: "ui-monospace, monospace", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)", minHeight: "14rem" },
  ".cm-gutters": { background: "var(--back)", color: "var(--quiet)", border: "none" },
  ".cm-wrong": { background: "var(--chosen)", boxShadow: "inset 0.25rem 0 var(--bad)" },
  "&.cm-focused .cm-matchingBracket": { background: "var(--chosen)", outline: "1px solid var(--quiet)" },
});
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--main)", fontWeight: "600" },
  { tag: [tags.string, tags.literal], color: "var(--good)" },
  { tag: [tags.number, tags.bool], color: "var(--warn)" },
  { tag: [tags.variableName], color: "var(--bad)" },
  { tag: [tags.comment], color: "var(--quiet)" },
]);

const run = () => {
  form?.requestSubmit();
  return true;
};

// A visitor who has begun to write before this script ran keeps their place.
const isWriting = document.activeElement === field;
const selection = isWriting ? { anchor: field.selectionStart, head: field.selectionEnd } : undefined;
const host = document.createElement("div");
field.after(host);
field.hidden = true;
// In a shadow root the editor adopts style sheets without <style> elements, which the page's policy forbids.
const shadow = host.attachShadow({ mode: "open" });
const editor = new EditorView({
  root: shadow,
  parent: shadow,
  doc: field.value,
  selection,
  extensions: [
    keymap.of([{ key: "Mod-Enter", run }, ...defaultKeymap, ...historyKeymap]),
    history(),
    lineNumbers(),
    bracketMatching(),
    sparql(),
    syntaxHighlighting(colours),
    look,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": "Query", autocapitalize: "none", tabindex: "0" }),
    EditorState.readOnly.of(field.readOnly),
    EditorView.updateListener.of(({ state, docChanged }) => {
      if (docChanged) field.value = state.doc.toString();
    }),
    wrongLine(),
  ],
});
if (isWriting) editor.focus();
field.parentElement.addEventListener("click", (event) => {
  if (event.target === field.parentElement) editor.focus();
});
const hint = form?.querySelector(".hint");
if (hint) hint.textContent = "Ctrl+Enter runs it, too.";

/** Marks the line that the service could not read. */
function wrongLine() {
  const line = Number(document.getElementById("problem")?.dataset.line);
  return EditorView.decorations.of(({ state }) => {
    if (!line || line > state.doc.lines) return Decoration.none;
    return Decoration.set(Decoration.line({ class: "cm-wrong" }).range(state.doc.line(line).from));
  });
}
