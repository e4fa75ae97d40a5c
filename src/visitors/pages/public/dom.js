// Helpers for the document of the operator's page.
import { w } from './operator-words.js';

/** Returns the element with an id. */
export const at = (id) => document.getElementById(id);

/** Makes an element with properties and children; a text becomes a text node. */
export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** Sets a text only if it changes; otherwise a screen reader would read it again each time. */
export function write(node, text) {
  const wanted = String(text);
  if (node.textContent !== wanted) node.textContent = wanted;
}

/** Makes an element with a text that follows the language: the name of a word. */
export function worded(tag, word, properties = {}) {
  const made = element(tag, properties, w[word]);
  made.dataset.word = word;
  return made;
}

/** A table with a row for each list of cells; `heads` and `empty` name words, and `fill` puts other rows into it. */
export function table(id, heads, empty) {
  const body = element('tbody', { id });
  const head = element('thead', {}, element('tr', {}, ...heads.map((word) => worded('th', word, { scope: 'col' }))));
  const fill = (rows) => {
    const none = rows.length === 0;
    const list = none ? [element('tr', {}, worded('td', empty, { colSpan: heads.length, className: 'none' }))] : [];
    for (const cells of rows) list.push(element('tr', {}, ...cells.map((cell) => element('td', {}, String(cell)))));
    body.replaceChildren(...list);
  };
  fill([]);
  return { node: element('div', { className: 'scroll' }, element('table', {}, head, body)), fill };
}

/** Values with their names: `{ id: word }`; `fill` takes `{ id: value }`. */
export function figures(names) {
  const node = element('dl', { className: 'figures' });
  for (const [id, word] of Object.entries(names)) {
    node.append(element('div', {}, worded('dt', word), element('dd', { id: `f-${id}` }, '–')));
  }
  const fill = (values) => {
    for (const [id, value] of Object.entries(values)) write(at(`f-${id}`), value);
  };
  return { node, fill };
}

/** A panel of the page: its lib, its content, and its width (half or whole). */
export function panel({ title, lib = '', width = '' }, ...content) {
  const name = element('h2', {}, worded('span', title));
  if (lib !== '') name.append(' ', element('small', {}, lib));
  return element('section', { className: `panel ${width}` }, name, ...content);
}
