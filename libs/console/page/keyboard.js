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

const ROWS =
  'main tbody tr td:first-child a, main tbody tr td:nth-child(4) a, main .matches > li > a, main .lists > li > a:first-child, main .urgent-section, main .card h2 a';

/** @param {EventTarget | null} target */
const isTyping = (target) =>
  target instanceof HTMLElement && (target.matches('input, select, textarea') || target.isContentEditable);

/** Moves the focus to the next or previous row, one link for each. @param {1 | -1} step */
function move(step) {
  /** @type {Map<Element, HTMLElement>} */
  const rows = new Map();
  for (const link of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(ROWS))) {
    const row = link.closest('tr, li, .urgent, .card') ?? link;
    if (!rows.has(row)) rows.set(row, link);
  }
  const links = [...rows.values()];
  const active = document.activeElement;
  const at = links.findIndex(
    (link) => link === active || [...rows].some(([row, own]) => own === link && row.contains(active)),
  );
  const next = at === -1 ? (step === 1 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + step));
  links[next]?.focus();
  links[next]?.scrollIntoView({ block: 'nearest' });
  return links.length > 0;
}

/**
 * Listens to the keys.
 * @param {{ help: () => void, times: () => void }} commands
 */
export function listenToKeys({ help, times }) {
  const search = () => /** @type {HTMLInputElement | null} */ (document.getElementById('search'));
  document.addEventListener('keydown', (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    const inSearch = target === search();
    if (key === 'Escape' && isTyping(target)) {
      /** @type {HTMLElement} */ (target).blur();
      document.querySelector('main')?.focus();
      return;
    }
    if (key === 'ArrowDown' && (inSearch || !isTyping(target))) {
      if (move(1)) event.preventDefault();
      return;
    }
    if (isTyping(target)) return;
    if (key === 'ArrowUp') {
      if (move(-1)) event.preventDefault();
    } else if (key === '/') {
      event.preventDefault();
      search()?.select();
      search()?.focus();
    } else if (key === 'r') {
      /** @type {HTMLElement | null} */ (document.querySelector('[data-reload]'))?.click();
    } else if (key === 'p') live.toggle();
    else if (key === 't') times();
    else if (key === '?') help();
  });
}
