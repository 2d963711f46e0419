// A page as somebody reads it: its words, where its links lead, and what its forms would send.

function attributesOf(tag: string): Record<string, string> {
  const found = tag.matchAll(/([\w-]+)(?:="([^"]*)")?/g);
  return Object.fromEntries(Array.from(found, ([, name, value]) => [name!, value ?? name!]));
}

const said = (parts: readonly (string | undefined)[]) => parts.filter((part) => part).join(" ");

function link(tag: string, text: string): string {
  const { href, rel, target, "aria-current": current, "aria-label": label } = attributesOf(tag);
  const isHere = current === "page" || current === "true";
  const words = text
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/ +/g, " ")
    .trim();
  return `[${label === undefined || label === words ? words : `${words}, named ${label}`}](${said([href, rel, target, isHere ? "here" : undefined])})`;
}

function field(tag: string, text?: string): string {
  const { name = "", type, value = "", required, maxlength } = attributesOf(tag);
  const sent = type === "submit" || text !== undefined ? value && `${name}=${value}` : `${name}=${value}`;
  return `{${said([text, sent, type === "submit" ? "" : type, maxlength && `≤${maxlength}`, required])}}`;
}

function option(tag: string, text: string): string {
  const { value = "", selected } = attributesOf(tag);
  return `|${value}${selected ? "*" : ""} ${text.trim()}`;
}

/** What begins a line of its own. */
const BLOCKS = /<\/?(?:li|dt|p|h2|h3|tr|ul|ol|form|label|section|nav|blockquote|summary|desc|title)\b[^>]*>/g;

/** The words, in lines; a link is [text](address), a field {name=value}, a form begins with → and where it is sent. */
export async function asRead(content: unknown): Promise<string[]> {
  return String(await content)
    .replaceAll(/\s+/g, " ")
    .replaceAll(/<a\b([^>]*)>(.*?)<\/a\s*>/g, (_, tag: string, text: string) => link(tag, text))
    .replaceAll(/<option([^>]*)>(.*?)<\/option>/g, (_, tag: string, text: string) => option(tag, text))
    .replaceAll(/<button([^>]*)>(.*?)<\/button>/g, (_, tag: string, text: string) => field(tag, text.trim()))
    .replaceAll(/<(?:input|textarea|select)\b([^>]*)>/g, (_, tag: string) => field(tag))
    .replaceAll(/<form\b([^>]*)>/g, (_, tag: string) => `\n→ ${attributesOf(tag)["action"] ?? ""}\n`)
    .replaceAll("</dt>", ": ")
    .replaceAll(/<\/t[hd]>/g, " | ")
    .replaceAll(BLOCKS, "\n")
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&#39;", "'")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&")
    .split("\n")
    .map((line) => line.replaceAll(/ +/g, " ").trim())
    .filter((line) => line !== "");
}
