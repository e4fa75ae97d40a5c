// The words of the page in the chosen language, and names and sentences of the server.
import { EN } from './words/en.js';
import { NAMES_EN } from './words/names-en.js';
import { NAMES_ZH } from './words/names-zh.js';
import { SENTENCES_ZH } from './words/sentences-zh.js';
import { ZH } from './words/zh.js';

/**
 * @typedef {'en' | 'zh'} Language
 * @typedef {keyof typeof EN} Word
 * @typedef {import('../src/console.types.ts').Sentence} Sentence
 */

const STORED = 'luanest-console:language';

/** @type {Language} */
let chosen = 'en';

/** Chooses the language: the stored one, else the browser's. */
export function startLanguage() {
  const stored = localStorage.getItem(STORED);
  const own = navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en';
  setLanguage(stored === 'en' || stored === 'zh' ? stored : own, false);
}

/**
 * Changes the language.
 * @param {Language} next
 * @param {boolean} [store]
 */
export function setLanguage(next, store = true) {
  chosen = next;
  document.documentElement.lang = next === 'zh' ? 'zh-CN' : 'en';
  if (store) localStorage.setItem(STORED, next);
}

/** Returns the chosen language. */
export const language = () => chosen;

/**
 * Returns a text of the page. `{name}` in it is replaced by the value of that name.
 * @param {Word} word
 * @param {Readonly<Record<string, string | number>>} [values]
 */
export const t = (word, values = {}) => filled((chosen === 'zh' ? ZH : EN)[word], values);

/** @param {string} text @param {Readonly<Record<string, string | number>>} values */
const filled = (text, values) =>
  text.replace(/\{(\w+)\}/g, (mark, name) => (Object.hasOwn(values, name) ? String(values[name]) : mark));

/** @param {Readonly<Record<string, string>>} words @param {string} name */
const own = (words, name) => (Object.hasOwn(words, name) ? words[name] : undefined);

/**
 * Returns the words for a name of the server: of a section, list, filter, column, fact, action or state. A name that is not
 * known is written as words: `attemptsMade` as "attempts made".
 * @param {string} name
 */
export function nameOf(name) {
  const known = own(chosen === 'zh' ? NAMES_ZH : NAMES_EN, name) ?? own(NAMES_EN, name);
  if (known !== undefined) return known;
  const plain = name.replace(/AtMs$|Ms$|Bytes$|:$/, '').replace(/-/g, ' ');
  const words = plain.replace(/([a-z0-9])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/**
 * Returns a state or another word of the server, if it is known, else the text itself, which may be a name that users chose.
 * @param {string} text
 */
export const stateOf = (text) => (chosen === 'zh' ? (own(NAMES_ZH, text) ?? text) : text);

/**
 * Returns the pieces of a sentence: texts, and names of values that the page formats.
 * @param {Sentence} sentence
 * @returns {readonly (string | { value: string })[]}
 */
export function piecesOf(sentence) {
  const template = chosen === 'zh' ? own(SENTENCES_ZH, sentence.code) : undefined;
  // The English is the server's own, with its values.
  if (template === undefined) return [sentence.text];
  const values = sentence.values ?? {};
  return template
    .split(/(\{\w+\})/)
    .filter((piece) => piece !== '')
    .map((piece) => {
      const name = /^\{(\w+)\}$/.exec(piece)?.[1];
      return name !== undefined && Object.hasOwn(values, name) ? { value: name } : piece;
    });
}
