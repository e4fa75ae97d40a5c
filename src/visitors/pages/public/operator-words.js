// Texts of the operator's page in both languages.
import { EN } from './operator-en.js';
import { language } from './language.js';
import { ZH } from './operator-zh.js';

/** Texts of the chosen language. */
export let w = language() === 'zh' ? ZH : EN;

/** Switches to the texts of another language. */
export function useWords(lang) {
  w = lang === 'zh' ? ZH : EN;
}

/** An error that can be shown in both languages: `say` is given the words. */
export class SaidError extends Error {
  constructor(say) {
    super(say(w));
    this.say = say;
  }
}

/** Returns the text of an error in the chosen language. */
export const sayingOf = (error) => error.say ?? ((words) => words.serverSays(error.message));
