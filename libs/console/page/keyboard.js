// Keys that work on all screens.
import { live } from './live.js';

/** Keys, and the names of the words that describe them. */
export const KEYS = /** @type {const} */ ([
  ['/', 'key-search'],
  ['↑ ↓', 'key-rows'],
  ['Enter', 'key-open'],
  ['Esc', 'key-escape'],
  ['r', 'key-reload'],
  ['p', 'key-pause'],
  ['t', 'key-times'],
  ['?', 'key-help'],
]);

const ROWS = 'main tbody tr, main .urgent, main .card';

/** Moves the focus to the first link of the next or previous row. Returns false if there are none. @param {1 | -1} step */
function move(step) {
  const rows = [...document.querySelectorAll(ROWS)].filter((row) => row.querySelector('a') !== null);
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = at === -1 && step === -1 ? rows.at(-1) : rows[Math.min(rows.length - 1, Math.max(0, at + step))];
  next?.querySelector('a')?.focus();
  next?.scrollIntoView({ block: 'nearest' });
  return next !== undefined;
}

/**
 * Listens to the keys.
 * @param {{ help: () => void, times: () => void }} commands
 */
export function listenToKeys({ help, times }) {
  document.addEventListener('keydown', (event) => {
    const { key } = event;
    const target = /** @type {HTMLElement} */ (event.target);
    const search = /** @type {HTMLInputElement} */ (document.getElementById('search'));
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    const isTyping = target.matches('input, select, textarea');
    if (key === 'Escape' && isTyping) {
      target.blur();
      document.querySelector('main')?.focus();
    } else if (key === 'ArrowDown' && (!isTyping || target === search)) {
      if (move(1)) event.preventDefault();
    } else if (isTyping) return;
    else if (key === 'ArrowUp' && move(-1)) event.preventDefault();
    else if (key === '/') {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (key === 'r') live.changed();
    else if (key === 'p') live.toggle();
    else if (key === 't') times();
    else if (key === '?') help();
  });
}
