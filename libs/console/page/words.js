// The words of the page in the chosen language, and names and sentences of the server.
import { NAMES_EN } from './words/names-en.js';
import { NAMES_ZH } from './words/names-zh.js';
import { WORDS } from './words/page.js';
import { SENTENCES_ZH } from './words/sentences-zh.js';

/**
 * @typedef {'en' | 'zh'} Language
 * @typedef {Readonly<Record<string, string>>} Texts
 */

const STORED = 'luanest-console:language';

/** @type {Language} */
let chosen = 'en';

/** Returns the chosen language. */
export const language = () => chosen;

/** Chooses the language: the stored one, else the browser's. */
export function startLanguage() {
  const [text] = [localStorage.getItem(STORED), navigator.language].filter((each) => each !== null);
  chosen = text?.toLowerCase().startsWith('zh') ? 'zh' : 'en';
  document.documentElement.lang = chosen === 'zh' ? 'zh-CN' : 'en';
}

/** Changes to the other language. */
export function nextLanguage() {
  localStorage.setItem(STORED, chosen === 'zh' ? 'en' : 'zh');
  startLanguage();
}

/**
 * Returns a text of the page. `{name}` in it is replaced by the value of that name.
 * @param {keyof typeof WORDS} word
 * @param {Readonly<Record<string, string | number>>} [values]
 */
export const t = (word, values = {}) =>
  WORDS[word][chosen === 'zh' ? 1 : 0].replace(/\{(\w+)\}/g, (mark, name) => String(values[name] ?? mark));

/** Returns what the table has for a name that may come from users. @param {Texts} texts @param {string} name */
const own = (texts, name) => (Object.hasOwn(texts, name) ? texts[name] : undefined);

/**
 * Returns the words for a name of the server: of a section, list, filter, column, fact, action or state. A name that is not
 * known is written as words: `attemptsMade` as "Attempts made".
 * @param {string} name
 */
export function nameOf(name) {
  const known = (chosen === 'zh' ? own(NAMES_ZH, name) : undefined) ?? own(NAMES_EN, name);
  if (known !== undefined) return known;
  const plain = name.replace(/AtMs$|Ms$|Bytes$|:$/, '').replace(/-/g, ' ');
  const words = plain.replace(/([a-z0-9])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns a state of the server, or the text itself, which may be a name that users chose. @param {string} text */
export const stateOf = (text) => (chosen === 'zh' ? (own(NAMES_ZH, text) ?? text) : text);

/** Returns the names of an address's parts: those of section and list as words. @param {readonly string[]} address */
export const partsOf = (address) => address.map((part, index) => (index < 2 ? nameOf(part) : part));

/**
 * Returns the pieces of a sentence: texts, and names of values that the page formats. In English it is the server's own text.
 * @param {import('../src/console.types.ts').Sentence} sentence
 * @returns {readonly (string | { value: string })[]}
 */
export function piecesOf({ code, text, values = {} }) {
  const template = chosen === 'zh' ? own(SENTENCES_ZH, code) : undefined;
  if (template === undefined) return [text];
  return template.split(/(\{\w+\})/).map((piece) => {
    const name = piece.slice(1, -1);
    return piece.startsWith('{') && Object.hasOwn(values, name) ? { value: name } : piece;
  });
}
