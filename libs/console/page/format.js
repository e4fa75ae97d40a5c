// Instants, durations, sizes and numbers as people read them.
import { language } from './words.js';

/** @import { Language } from './words.js' */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Units of time with their names, the next smaller unit, and the number from which on that one is left out. */
const UNITS = /** @type {const} */ ([
  [DAY, { en: 'd', zh: '天' }, HOUR, 10],
  [HOUR, { en: 'h', zh: '小时' }, MINUTE, 24],
  [MINUTE, { en: 'min', zh: '分' }, SECOND, 10],
  [SECOND, { en: 's', zh: '秒' }, 0, 0],
  [1, { en: 'ms', zh: '毫秒' }, 0, 0],
]);

/** @param {number} value */
const two = (value) => String(value).padStart(2, '0');

/** Returns a number with separators of thousands. @param {number} value @param {Language} [inLanguage] */
export const count = (value, inLanguage = language()) =>
  new Intl.NumberFormat(inLanguage, { maximumFractionDigits: 3 }).format(value);

/** Returns a duration with one or two units, such as `2 h 05 min`. @param {number} ms @param {Language} [inLanguage] */
export function duration(ms, inLanguage = language()) {
  const size = Math.abs(ms);
  const at = UNITS.findIndex(([unit]) => size >= unit);
  const [unit, names, part, upTo] = /** @type {(typeof UNITS)[number]} */ (UNITS.at(at));
  const whole = size < SECOND ? Math.round(size) : Math.floor(size / unit);
  const rest = part > 0 && whole < upTo ? Math.floor((size % unit) / part) : 0;
  // Seconds below ten have a decimal.
  const shown = unit === SECOND && whole < 10 ? Math.floor(size / 100) / 10 : whole;
  const text = `${ms < 0 ? '−' : ''}${count(shown, inLanguage)} ${names[inLanguage]}`;
  return rest === 0 ? text : `${text} ${two(rest)} ${UNITS[at + 1]?.[1][inLanguage]}`;
}

/**
 * Returns the time between an instant and now in whole units, such as `3 min ago`, because a list of times is read from top to
 * bottom.
 * @param {number} atMs @param {number} nowMs @param {Language} [inLanguage]
 */
export function since(atMs, nowMs, inLanguage = language()) {
  const zh = inLanguage === 'zh';
  const size = Math.abs(nowMs - atMs);
  if (size < SECOND) return zh ? '刚刚' : 'now';
  const unit = size < MINUTE ? SECOND : size < HOUR ? MINUTE : size < 2 * DAY ? HOUR : DAY;
  const text = duration(Math.floor(size / unit) * unit, inLanguage);
  if (zh) return nowMs > atMs ? `${text}前` : `${text}后`;
  return nowMs > atMs ? `${text} ago` : `in ${text}`;
}

/**
 * Returns an instant in the browser's time zone, with its distance from UTC: `2026-11-29 10:31:07.123 +08:00`.
 * @param {number} atMs
 */
export function absolute(atMs) {
  const minutes = -new Date(atMs).getTimezoneOffset();
  const local = new Date(atMs + minutes * MINUTE);
  if (Number.isNaN(local.getTime())) return String(atMs);
  const zone = `${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
  return `${local.toISOString().slice(0, -1).replace('T', ' ')} ${minutes < 0 ? '-' : '+'}${zone}`;
}

/** Returns an instant as an `input` of type datetime-local takes it. @param {number} atMs */
export const asInput = (atMs) => absolute(atMs).slice(0, 19).replace(' ', 'T');

/** Returns a size in bytes, kB, MB, GB or TB (powers of 1,000). @param {number} value @param {Language} [inLanguage] */
export function bytes(value, inLanguage = language()) {
  const power = Math.min(4, Math.floor(Math.log10(Math.max(1, Math.abs(value))) / 3));
  return `${count(Number((value / 1_000 ** power).toPrecision(3)), inLanguage)} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`;
}

/** Returns a value as indented JSON. A text stays as it is, unless it is the JSON of an object. @param {unknown} value */
export function payloadText(value) {
  if (typeof value !== 'string') return JSON.stringify(value, undefined, 2) ?? '';
  try {
    const parsed = JSON.parse(value);
    return typeof parsed === 'object' ? JSON.stringify(parsed, undefined, 2) : value;
  } catch {
    return value;
  }
}
