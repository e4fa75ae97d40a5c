// What a user chose for this browser: theme, and how instants are written. The language is in words.js.

const THEME = 'luanest-console:theme';
const TIMES = 'luanest-console:times';
const THEMES = /** @type {const} */ (['system', 'light', 'dark']);

export const settings = {
  theme: /** @type {(typeof THEMES)[number]} */ ('system'),
  exactTimes: false,
};

/** Applies the stored settings. */
export function startSettings() {
  settings.theme = THEMES.find((each) => each === localStorage.getItem(THEME)) ?? 'system';
  settings.exactTimes = localStorage.getItem(TIMES) === 'exact';
  document.documentElement.dataset.theme = settings.theme;
}

/** Changes to the next theme: system, light, dark. */
export function nextTheme() {
  settings.theme = THEMES[(THEMES.indexOf(settings.theme) + 1) % THEMES.length] ?? 'system';
  localStorage.setItem(THEME, settings.theme);
  document.documentElement.dataset.theme = settings.theme;
}

/** Writes instants as time since, or as they are. */
export function toggleTimes() {
  settings.exactTimes = !settings.exactTimes;
  localStorage.setItem(TIMES, settings.exactTimes ? 'exact' : 'since');
}
