// A small chart of counts over time, as SVG. See tools/DECISIONS.md: charts-are-svg
import { useMemo, useState } from 'preact/hooks';
import { roundUp, summed } from '../counts.js';
import { html } from '../dom.js';
import { absolute, count } from '../format.js';
import { nameOf, t } from '../words.js';

/** Size of the drawing in its own units; the browser stretches it. */
const WIDTH = 1_000;
const HEIGHT = 100;

/** @param {{ series: import('../api.js').Series, minutes: number, endMs: number }} props */
export function Chart({ series, minutes, endMs }) {
  const [at, setAt] = useState(/** @type {number | undefined} */ (undefined));
  const { times, lines } = useMemo(() => summed(series.points, minutes, endMs), [series, minutes, endMs]);
  const last = times.length - 1;
  const top = roundUp(Math.max(...lines.flatMap(({ line }) => line)));
  const x = (/** @type {number} */ index) => (index / last) * WIDTH;
  const points = (/** @type {readonly number[]} */ line) =>
    line.map((value, index) => `${x(index).toFixed(1)},${(HEIGHT - (value / top) * HEIGHT).toFixed(1)}`).join(' ');
  const point = (/** @type {any} */ { offsetX, currentTarget }) =>
    setAt(Math.min(last, Math.max(0, Math.round((offsetX / currentTarget.clientWidth) * last))));
  const described = lines.map(({ name, total }) => `${nameOf(name)}: ${count(total)}`).join(', ');
  // Days for a week, hours and minutes for less.
  const label = (/** @type {number} */ ms) =>
    minutes > 1_440 ? absolute(ms).slice(5, 10) : absolute(ms).slice(11, 16);
  const marks = [0, 0.25, 0.5, 0.75, 1].map((part) => label(times[Math.round(part * last)] ?? 0));
  return html`<div class="chart box">
    <div class="row between">
      <b class="text">${[...new Set([series.section, series.name])].map(nameOf).join(' / ')}</b>
      <span class="row legend">
        ${lines.map(
          ({ name, total, line }, index) =>
            html`<span key=${name}
              ><i class=${`line line-${index % 5}`}></i> ${nameOf(name)}
              <b class="num">${count(at === undefined ? total : (line[at] ?? 0))}</b></span
            >`,
        )}
      </span>
    </div>
    <div class="plot">
      <div class="axis num" aria-hidden="true">
        ${[top, top / 2, 0].map((each) => html`<span>${count(each)}</span>`)}
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
        ${lines.map(({ name, line }, index) => html`<polyline key=${name} class=${`line-${index % 5}`} points=${points(line)} />`)}
        ${at !== undefined && html`<line class="grid" x1=${x(at)} x2=${x(at)} y1="0" y2=${HEIGHT} />`}
      </svg>
      <div class="x-axis axis num">
        ${(at === undefined ? marks : [absolute(times[at] ?? 0).slice(0, 16)]).map((each) => html`<span>${each}</span>`)}
      </div>
    </div>
  </div>`;
}
