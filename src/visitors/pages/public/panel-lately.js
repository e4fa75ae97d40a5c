import { element, panel, worded, write } from './dom.js';
import { count } from './figures.js';
import { w } from './operator-words.js';

/** Time that a line shows, ms. */
const SPAN_MS = 120_000;
const WIDTH = 120;
const HEIGHT = 30;
const SVG = 'http://www.w3.org/2000/svg';

/**
 * Makes a line that shows how a number has changed. Returns it, `add(atMs, value)`, where undefined adds no value, and `clear()`.
 *
 * @param {import('./dom.js').Word} word
 */
function line(word) {
  /** @type {{ atMs: number, value: number }[]} */
  let points = [];
  const drawing = document.createElementNS(SVG, 'svg');
  const drawn = document.createElementNS(SVG, 'polyline');
  drawing.setAttribute('viewBox', `0 -1 ${WIDTH} ${HEIGHT + 2}`);
  drawing.setAttribute('preserveAspectRatio', 'none');
  // The text has what the drawing shows.
  drawing.setAttribute('aria-hidden', 'true');
  drawing.append(drawn);
  const said = element('span', {}, '–');
  const node = element('figure', {}, element('figcaption', {}, worded('span', word), ': ', said), drawing);
  const add = (/** @type {number} */ atMs, /** @type {number | undefined} */ value) => {
    points = points.filter((point) => point.atMs > atMs - SPAN_MS && point.atMs < atMs);
    if (value !== undefined) points.push({ atMs, value });
    const most = Math.max(0, ...points.map((point) => point.value));
    const x = (/** @type {number} */ ms) => (WIDTH * (1 - (atMs - ms) / SPAN_MS)).toFixed(1);
    const y = (/** @type {number} */ high) => (HEIGHT * (1 - high / Math.max(1, most))).toFixed(1);
    drawn.setAttribute('points', points.map((point) => `${x(point.atMs)},${y(point.value)}`).join(' '));
    write(said, value === undefined ? w.noLedger : w.nowAndMost(count(value), count(most)));
  };
  const clear = () => (points = []);
  return { node, add, clear };
}

/** Makes the panel of the last two minutes: grants a second, and payouts behind. */
export function latelyPanel() {
  const [rate, behind] = [line('rate'), line('behind')];
  const lines = element('div', { className: 'lines', id: 'lately' }, rate.node, behind.node);
  const node = panel({ title: 'lately', width: 'wide' }, lines);
  let shown = '';
  const show = (/** @type {import('./follow.js').View} */ { status, atMs, grantsPerSecond, payoutsBehind }) => {
    if (status.activityId !== shown) for (const each of [rate, behind]) each.clear();
    shown = status.activityId;
    rate.add(atMs, grantsPerSecond);
    behind.add(atMs, payoutsBehind);
  };
  return { node, show };
}
