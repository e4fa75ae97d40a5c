// The language of both pages.

/** @typedef {'en' | 'zh'} Language */

/** @type {readonly Language[]} */
const LANGUAGES = ['en', 'zh'];

/**
 * Returns the language that the visitor chose before; else `zh` for a browser in Chinese, and `en` for any other.
 *
 * @returns {Language}
 */
export function language() {
  const chosen = LANGUAGES.find((each) => each === localStorage.getItem('language'));
  if (chosen !== undefined) return chosen;
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

/**
 * Stores the chosen language in the browser.
 *
 * @param {Language} next
 */
export function choose(next) {
  localStorage.setItem('language', next);
}

/**
 * Returns the other language.
 *
 * @param {Language} lang
 * @returns {Language}
 */
export const otherThan = (lang) => (lang === 'zh' ? 'en' : 'zh');

/**
 * Returns a language's name for the attribute `lang` of HTML.
 *
 * @param {Language} lang
 */
export const tagOf = (lang) => (lang === 'zh' ? 'zh-CN' : 'en');

/**
 * Writes the fixed texts of the page, and the button that switches to the other language.
 *
 * @param {Language} lang
 * @param {{ title: string, switch: string, switchLabel: string }} words texts by name; the elements of the page name them
 */
export function speakPage(lang, words) {
  const texts = /** @type {Record<string, any>} */ (words);
  document.documentElement.lang = tagOf(lang);
  document.title = words.title;
  /** @type {(name: string, write: (element: any, text: string) => void) => void} */
  const each = (name, write) => {
    for (const element of document.querySelectorAll(`[data-${name}]`)) {
      write(element, texts[/** @type {HTMLElement} */ (element).dataset[name] ?? '']);
    }
  };
  each('word', (element, text) => (element.textContent = text));
  each('hint', (element, text) => (element.placeholder = text));
  each('label', (element, text) => (element.ariaLabel = text));
  const button = /** @type {HTMLElement} */ (document.getElementById('language'));
  button.textContent = words.switch;
  button.lang = tagOf(otherThan(lang));
  button.ariaLabel = words.switchLabel;
}
