// Texts of the operator's page in both languages.
import { EN } from './operator-en.js';
import { language } from './language.js';
import { ZH } from './operator-zh.js';

/** @typedef {typeof EN} Words */
/** @typedef {(words: Words) => string} Saying Says something in a language. */

/** Texts of the chosen language. */
export let w = language() === 'zh' ? ZH : EN;

/**
 * Switches to the texts of another language.
 *
 * @param {import('./language.js').Language} lang
 */
export function useWords(lang) {
  w = lang === 'zh' ? ZH : EN;
}

/** An error that the page shows in its language. `say` receives the texts of a language and returns the message. */
export class SaidError extends Error {
  /** @param {Saying} say */
  constructor(say) {
    super(say(w));
    this.say = say;
  }
}

/**
 * Returns the function that says an error in a language. The browser logs an error that is not for operators.
 *
 * @param {unknown} error
 * @returns {Saying}
 */
export function sayingOf(error) {
  if (error instanceof SaidError) return error.say;
  setTimeout(() => {
    throw error;
  });
  return (words) => words.pageFailed;
}
