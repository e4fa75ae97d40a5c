// A small chart of counts over time, as SVG. See tools/DECISIONS.md: charts-are-svg
import { useMemo, useState } from 'preact/hooks';
import { roundUp, summed } from '../counts.js';
import { html } from '../dom.js';
import { absolute, count } from '../format.js';
import { language, nameOf, t } from '../words.js';

/** @typedef {import('../api.js').Series} Series */

/** Colours in the style. */
const COLOURS = 5;
/** Size of the drawing in its own units; the browser stretches it. */
const WIDTH = 1_000;
const HEIGHT = 100;

/** Instant as the axis of a time has it: days for a week, hours and minutes for less. @param {number} atMs @param {number} minutes */
const label = (atMs, minutes) => (minutes > 1_440 ? absolute(atMs).slice(5, 10) : absolute(atMs).slice(11, 16));

/**
 * @param {{ series: Series, minutes: number, endMs: number, title: any }} props
 */
export function Chart({ series, minutes, endMs, title }) {
  const [at, setAt] = useState(/** @type {number | undefined} */ (undefined));
  const { times, lines } = useMemo(() => summed(series.points, minutes, endMs), [series, minutes, endMs]);
  const top = roundUp(Math.max(...lines.flatMap(({ line }) => line)));
  const x = (/** @type {number} */ index) => (index / (times.length - 1)) * WIDTH;
  const points = (/** @type {readonly number[]} */ line) =>
    line.map((value, index) => `${x(index).toFixed(1)},${(HEIGHT - (value / top) * HEIGHT).toFixed(1)}`).join(' ');
  const point = (/** @type {any} */ { offsetX, currentTarget }) => {
    const index = Math.round((offsetX / currentTarget.clientWidth) * (times.length - 1));
    setAt(Math.min(times.length - 1, Math.max(0, index)));
  };
  const shown = at === undefined ? undefined : times[at];
  const described = lines.map(({ name, total }) => `${nameOf(name)}: ${count(total, language())}`).join(', ');
  const marks = [0, 0.25, 0.5, 0.75, 1].map((part) => times[Math.round(part * (times.length - 1))] ?? 0);
  return html`<div class="chart">
    <div class="caption">
      ${title}
      <span class="legend">
        ${lines.map(
          ({ name, total, line }, index) =>
            html`<span key=${name}
              ><i class=${`line line-${index % COLOURS}`}></i>${nameOf(name)}
              <b class="num">${count(at === undefined ? total : (line[at] ?? 0), language())}</b></span
            >`,
        )}
      </span>
    </div>
    <div class="plot">
      <div class="y-axis num" aria-hidden="true">
        ${[top, top / 2, 0].map((each) => html`<span>${count(each, language())}</span>`)}
      </div>
      <svg
        role="img"
        aria-label=${described || t('noCounts')}
        viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        onPointerMove=${point}
        onPointerLeave=${() => setAt(undefined)}
      >
        ${[0, HEIGHT / 2, HEIGHT].map((y) => html`<line class="grid" x1="0" x2=${WIDTH} y1=${y} y2=${y} />`)}
        ${lines.map(({ name, line }, index) => html`<polyline key=${name} class=${`line-${index % COLOURS}`} points=${points(line)} />`)}
        ${at !== undefined && html`<line class="cursor" x1=${x(at)} x2=${x(at)} y1="0" y2=${HEIGHT} />`}
      </svg>
    </div>
    <div class="x-axis num muted">
      ${shown === undefined ? marks.map((each) => html`<span>${label(each, minutes)}</span>`) : html`<span>${absolute(shown).slice(0, 16)}</span>`}
    </div>
  </div>`;
}
