// Makes an element whose parts are inserted as text, never as markup.

export function element(name, attributes, ...parts) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...parts);
  return made;
}
