// What the operator's page says, in both languages.
import { EN } from './operator-en.js';
import { language } from './language.js';
import { ZH } from './operator-zh.js';

/** The words of the language that is chosen now. */
export let w = language() === 'zh' ? ZH : EN;

/** Takes another language's words. */
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

/** How an error is shown, in whatever language is chosen then. */
export const sayingOf = (error) => error.say ?? ((words) => words.serverSays(error.message));
