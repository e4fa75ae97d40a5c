// Helpers for the document of the operator's page.
import { w } from './operator-words.js';

/** @typedef {keyof import('./operator-words.js').Words} Word Name of a text. */

/**
 * Returns the element with an id, of the page's own HTML. Its type is not checked.
 *
 * @param {string} id
 * @returns {any}
 */
export const at = (id) => document.getElementById(id);

/**
 * Makes an element with properties and children. A child that is a string becomes a text node.
 *
 * @param {string} tag
 * @param {object} properties
 * @param {...(Node | string)} children
 */
export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/**
 * Sets a text only if it changes; otherwise a screen reader would read it again each time.
 *
 * @param {Element} node
 * @param {string | number} text
 */
export function write(node, text) {
  const wanted = String(text);
  if (node.textContent !== wanted) node.textContent = wanted;
}

/**
 * Makes an element that shows a text of the page in the chosen language.
 *
 * @param {string} tag
 * @param {Word} word
 * @param {object} properties
 */
export function worded(tag, word, properties = {}) {
  const made = element(tag, properties, String(w[word]));
  made.dataset.word = word;
  return made;
}

/**
 * Makes a table. Returns the element, and `fill(rows)`, which replaces the rows: each is a list of cells. Without rows, the table
 * shows `empty`.
 *
 * @param {string} id
 * @param {readonly Word[]} heads
 * @param {Word} empty
 */
export function table(id, heads, empty) {
  const body = element('tbody', { id });
  const head = element('thead', {}, element('tr', {}, ...heads.map((word) => worded('th', word, { scope: 'col' }))));
  const fill = (/** @type {(string | number)[][]} */ rows) => {
    const none = rows.length === 0;
    const list = none ? [element('tr', {}, worded('td', empty, { colSpan: heads.length, className: 'none' }))] : [];
    for (const cells of rows) list.push(element('tr', {}, ...cells.map((cell) => element('td', {}, String(cell)))));
    body.replaceChildren(...list);
  };
  fill([]);
  return { node: element('div', { className: 'scroll' }, element('table', {}, head, body)), fill };
}

/**
 * Makes a list of labelled values. Returns it, and `fill({ id: value })`, which shows values.
 *
 * @template {string} Id
 * @param {Readonly<Record<Id, Word>>} names labels by id
 */
export function figures(names) {
  const node = element('dl', { className: 'figures' });
  for (const [id, word] of /** @type {[Id, Word][]} */ (Object.entries(names))) {
    node.append(element('div', {}, worded('dt', word), element('dd', { id: `f-${id}` }, '–')));
  }
  const fill = (/** @type {Record<Id, string | number>} */ values) => {
    for (const [id, value] of /** @type {[Id, string | number][]} */ (Object.entries(values)))
      write(at(`f-${id}`), value);
  };
  return { node, fill };
}

/**
 * Makes a panel of the page.
 *
 * @param {{ title: Word, lib?: string, width?: string }} options `lib` is the lib that the panel is about, `width` a CSS class
 * @param {...Node} content
 */
export function panel({ title, lib = '', width = '' }, ...content) {
  const name = element('h2', {}, worded('span', title));
  if (lib !== '') name.append(' ', element('small', {}, lib));
  return element('section', { className: `panel ${width}` }, name, ...content);
}
