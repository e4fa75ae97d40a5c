// Counts per minute, added up for a chart.

/** @typedef {import('./api.js').Series} Series */

const MINUTE_MS = 60_000;

/** Time that one point of a chart stands for, ms. @param {number} minutes length of the chart */
export const stepOf = (minutes) => MINUTE_MS * (minutes <= 60 ? 1 : minutes <= 360 ? 5 : minutes <= 1_440 ? 15 : 60);

/**
 * Adds up counts per minute over steps of time. A minute without counts is zero. The running step and the first one
 * are left out: they are not whole, and would look like a fall.
 * @param {Series['points']} points
 * @param {number} minutes
 * @param {number} endMs
 */
export function summed(points, minutes, endMs) {
  const step = stepOf(minutes);
  const last = Math.floor(endMs / step) * step - step;
  const length = Math.round((minutes * MINUTE_MS) / step) - 1;
  const first = last - (length - 1) * step;
  const names = [...new Set(points.flatMap(([, counts]) => Object.keys(counts)))];
  const times = Array.from({ length }, (_, index) => first + index * step);
  const lines = names.map((name) => {
    /** @type {number[]} */
    const line = new Array(length).fill(0);
    for (const [atMs, counts] of points) {
      const index = Math.floor((atMs - first) / step);
      if (index >= 0 && index < length) line[index] = (line[index] ?? 0) + (counts[name] ?? 0);
    }
    return { name, line, total: line.reduce((sum, each) => sum + each, 0) };
  });
  return { times, lines };
}

/** Returns the least round number that is not less: 1, 2 or 5, and zeros. @param {number} value */
export function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return /** @type {number} */ ([1, 2, 5, 10].map((each) => each * power).find((each) => each >= value));
}
