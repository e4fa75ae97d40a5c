// Formats numbers for people.
const GROUPS = /\B(?=(\d{3})+$)/g;

/**
 * Formats an integer with separated thousands.
 *
 * @param {number} value
 */
export function count(value) {
  return String(value).replace(GROUPS, ',');
}

/**
 * Returns the last digits of a fencing token. New tokens are times in microseconds, so the first digits rarely change.
 *
 * @param {number} fence
 */
export function short(fence) {
  return fence === 0 ? '–' : `…${String(fence).slice(-8)}`;
}

/**
 * Formats integer cents as money, without floating point.
 *
 * @param {number} cents
 */
export function money(cents) {
  const sign = cents < 0 ? '-' : '';
  const whole = Math.abs(cents);
  return `${sign}¥${count(Math.floor(whole / 100))}.${String(whole % 100).padStart(2, '0')}`;
}

/**
 * Formats a duration as hours, minutes and seconds. Rounds up, so that 0:00 means that the time is over.
 *
 * @param {number} ms
 */
export function clock(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor(seconds / 60) % 60;
  const two = (/** @type {number} */ value) => String(value).padStart(2, '0');
  return `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(seconds % 60)}`;
}
