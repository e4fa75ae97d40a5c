// What a user chose for this browser: theme, and how instants are written. The language is in words.js.

/** @typedef {'system' | 'light' | 'dark'} Theme */

const THEME = 'luanest-console:theme';
const TIMES = 'luanest-console:times';

export const settings = {
  /** @type {Theme} */
  theme: 'system',
  exactTimes: false,
};

/** @param {Theme} theme */
function apply(theme) {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Applies the stored settings. */
export function startSettings() {
  const stored = localStorage.getItem(THEME);
  settings.theme = stored === 'light' || stored === 'dark' ? stored : 'system';
  settings.exactTimes = localStorage.getItem(TIMES) === 'exact';
  apply(settings.theme);
}

/** Changes to the next theme: system, light, dark. */
export function nextTheme() {
  settings.theme = settings.theme === 'system' ? 'light' : settings.theme === 'light' ? 'dark' : 'system';
  localStorage.setItem(THEME, settings.theme);
  apply(settings.theme);
}

/** Writes instants as time since, or as they are. */
export function toggleTimes() {
  settings.exactTimes = !settings.exactTimes;
  localStorage.setItem(TIMES, settings.exactTimes ? 'exact' : 'since');
}
