// Instants, durations, sizes and numbers as people read them.

/** @typedef {import('./words.js').Language} Language */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** @type {Readonly<Record<Language, { ms: string, s: string, min: string, h: string, d: string, ago: (t: string) => string, in: (t: string) => string, now: string }>>} */
const UNITS = {
  en: { ms: ' ms', s: ' s', min: ' min', h: ' h', d: ' d', ago: (t) => `${t} ago`, in: (t) => `in ${t}`, now: 'now' },
  zh: {
    ms: ' 毫秒',
    s: ' 秒',
    min: ' 分',
    h: ' 小时',
    d: ' 天',
    ago: (t) => `${t}前`,
    in: (t) => `${t}后`,
    now: '刚刚',
  },
};

/**
 * Returns a duration with one or two units, such as `2 h 05 min`.
 * @param {number} ms
 * @param {Language} language
 */
export function duration(ms, language) {
  const units = UNITS[language];
  const size = Math.abs(ms);
  const sign = ms < 0 ? '−' : '';
  /** @type {(big: number, bigUnit: string, small: number, smallUnit: string) => string} */
  const two = (big, bigUnit, small, smallUnit) => {
    const whole = Math.floor(size / big);
    const rest = Math.floor((size % big) / small);
    return `${sign}${whole}${bigUnit}${rest === 0 ? '' : ` ${String(rest).padStart(2, '0')}${smallUnit}`}`;
  };
  if (size < SECOND) return `${sign}${Math.round(size)}${units.ms}`;
  if (size < 10 * SECOND) return `${sign}${Math.floor(size / 100) / 10}${units.s}`;
  if (size < MINUTE) return `${sign}${Math.floor(size / SECOND)}${units.s}`;
  if (size < 10 * MINUTE) return two(MINUTE, units.min, SECOND, units.s);
  if (size < HOUR) return `${sign}${Math.floor(size / MINUTE)}${units.min}`;
  if (size < DAY) return two(HOUR, units.h, MINUTE, units.min);
  if (size < 10 * DAY) return two(DAY, units.d, HOUR, units.h);
  return `${sign}${count(Math.floor(size / DAY), language)}${units.d}`;
}

/**
 * Returns the time between an instant and now, such as `3 min ago`. It changes once a second at most.
 * @param {number} atMs
 * @param {number} nowMs
 * @param {Language} language
 */
export function since(atMs, nowMs, language) {
  const units = UNITS[language];
  const ago = nowMs - atMs;
  // Whole units only: a list of times is read from top to bottom.
  const whole = (/** @type {number} */ ms) => {
    const unit = ms < MINUTE ? SECOND : ms < HOUR ? MINUTE : ms < 2 * DAY ? HOUR : DAY;
    return duration(Math.floor(ms / unit) * unit, language);
  };
  if (Math.abs(ago) < SECOND) return units.now;
  return ago > 0 ? units.ago(whole(ago)) : units.in(whole(-ago));
}

/** @param {number} value @param {number} [length] */
const digits = (value, length = 2) => String(value).padStart(length, '0');

/**
 * Returns an instant in the browser's time zone, with its distance from UTC: `2026-11-29 10:31:07.123 +08:00`.
 * @param {number} atMs
 */
export function absolute(atMs) {
  const at = new Date(atMs);
  if (Number.isNaN(at.getTime())) return String(atMs);
  const offset = -at.getTimezoneOffset();
  const zone = `${offset < 0 ? '-' : '+'}${digits(Math.floor(Math.abs(offset) / 60))}:${digits(Math.abs(offset) % 60)}`;
  const day = `${at.getFullYear()}-${digits(at.getMonth() + 1)}-${digits(at.getDate())}`;
  const clock = `${digits(at.getHours())}:${digits(at.getMinutes())}:${digits(at.getSeconds())}`;
  return `${day} ${clock}.${digits(at.getMilliseconds(), 3)} ${zone}`;
}

/** Returns an instant as an `input` of type datetime-local takes it. @param {number} atMs */
export const asInput = (atMs) => absolute(atMs).slice(0, 19).replace(' ', 'T');

/** Returns an instant in ISO 8601; empty if there is no such day. @param {number} atMs */
export function iso(atMs) {
  const at = new Date(atMs);
  return Number.isNaN(at.getTime()) ? '' : at.toISOString();
}

/**
 * Returns a number with separators of thousands.
 * @param {number} value
 * @param {Language} language
 */
export const count = (value, language) => new Intl.NumberFormat(language, { maximumFractionDigits: 3 }).format(value);

/**
 * Returns a size in bytes, kB, MB or GB (powers of 1,000).
 * @param {number} value
 * @param {Language} language
 */
export function bytes(value, language) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let size = value;
  let unit = 0;
  while (Math.abs(size) >= 1_000 && unit < units.length - 1) {
    size /= 1_000;
    unit += 1;
  }
  return `${count(unit === 0 ? size : Number(size.toPrecision(3)), language)} ${units[unit]}`;
}

/**
 * Returns a value as indented JSON. A text stays as it is, because JSON of an unknown payload often is one.
 * @param {unknown} value
 */
export function payloadText(value) {
  if (typeof value !== 'string') return JSON.stringify(value, undefined, 2) ?? '';
  try {
    const parsed = JSON.parse(value);
    return typeof parsed === 'object' ? JSON.stringify(parsed, undefined, 2) : value;
  } catch {
    return value;
  }
}
