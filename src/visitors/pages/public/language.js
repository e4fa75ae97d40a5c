// The language of both pages.
const LANGUAGES = ['en', 'zh'];

/** Returns the language that the visitor chose before; else `zh` for a browser in Chinese, and `en` for any other. */
export function language() {
  const chosen = localStorage.getItem('language');
  if (LANGUAGES.includes(chosen)) return chosen;
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

/** Stores the chosen language in the browser. */
export function choose(next) {
  localStorage.setItem('language', next);
}

/** Returns the other language. */
export const otherThan = (lang) => (lang === 'zh' ? 'en' : 'zh');

/** Returns a language's name for the attribute `lang` of HTML. */
export const tagOf = (lang) => (lang === 'zh' ? 'zh-CN' : 'en');

/** Writes the fixed texts of the page, and the button that switches to the other language. */
export function speakPage(lang, words) {
  document.documentElement.lang = tagOf(lang);
  document.title = words.title;
  for (const element of document.querySelectorAll('[data-word]')) element.textContent = words[element.dataset.word];
  for (const element of document.querySelectorAll('[data-hint]')) element.placeholder = words[element.dataset.hint];
  for (const element of document.querySelectorAll('[data-label]')) element.ariaLabel = words[element.dataset.label];
  const button = document.getElementById('language');
  button.textContent = words.switch;
  button.lang = tagOf(otherThan(lang));
  button.ariaLabel = words.switchLabel;
}
