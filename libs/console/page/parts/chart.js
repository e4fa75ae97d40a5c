// A small chart of counts over time.
import uPlot from 'uplot';
import { useEffect, useRef } from 'preact/hooks';
import { html } from '../dom.js';
import { absolute, count } from '../format.js';
import { isDark } from '../settings.js';
import { language, nameOf, t } from '../words.js';

/** @typedef {import('../api.js').Series} Series */

const HEIGHT = 120;
const MINUTE_MS = 60_000;
/** Colours of lines, in light and in dark. The first ones are most different. */
const COLOURS = [
  ['#4f46c8', '#9d97f5'],
  ['#c2410c', '#f59e6a'],
  ['#0f766e', '#4fc7ba'],
  ['#a21caf', '#e28aec'],
  ['#57606a', '#a5adb8'],
];

/** @param {number} index */
const colourOf = (index) => /** @type {string} */ (COLOURS[index % COLOURS.length]?.[isDark() ? 1 : 0]);

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
    const line = new Array(length).fill(0);
    for (const [atMs, counts] of points) {
      const index = Math.floor((atMs - first) / step);
      if (index >= 0 && index < length) line[index] += counts[name] ?? 0;
    }
    return { name, line, total: line.reduce((sum, each) => sum + each, 0) };
  });
  return { times, lines };
}

/**
 * @param {{ series: Series, minutes: number, endMs: number, title: any }} props
 */
export function Chart({ series, minutes, endMs, title }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const readout = useRef(/** @type {HTMLElement | null} */ (null));
  const { times, lines } = summed(series.points, minutes, endMs);
  const theme = isDark();
  useEffect(() => {
    const at = box.current;
    if (at === null) return undefined;
    // Colours of the style's variables, as a canvas takes them.
    const style = getComputedStyle(at);
    const axis = {
      stroke: style.color,
      grid: { stroke: style.borderTopColor, width: 1 },
      ticks: { show: false },
      font: '11px system-ui, sans-serif',
    };
    const plot = new uPlot(
      {
        width: at.clientWidth,
        height: HEIGHT,
        padding: [8, 18, 0, 0],
        legend: { show: false },
        cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
        scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.05, 1)] } },
        series: [{}, ...lines.map((_, index) => ({ stroke: colourOf(index), width: 1.5, points: { show: false } }))],
        axes: [
          { ...axis, size: 24, values: (_, splits) => splits.map((each) => label(each * 1_000, minutes)) },
          {
            ...axis,
            size: 44,
            splits: (_, __, min, max) =>
              [min, Math.round(max / 2), Math.floor(max)].filter((each, i, all) => all.indexOf(each) === i),
            values: (_, splits) => splits.map((each) => count(each, language())),
          },
        ],
        hooks: {
          setCursor: [
            ({ cursor: { idx } }) => {
              if (readout.current === null) return;
              const atMs = idx == null ? undefined : times[idx];
              readout.current.textContent =
                atMs === undefined
                  ? ''
                  : `${absolute(atMs).slice(0, 16)}: ${lines.map(({ name, line }) => `${nameOf(name)} ${count(line[/** @type {number} */ (idx)] ?? 0, language())}`).join(', ')}`;
            },
          ],
        },
      },
      [times.map((each) => each / 1_000), ...lines.map(({ line }) => line)],
      at,
    );
    const follow = new ResizeObserver(() => plot.setSize({ width: at.clientWidth, height: HEIGHT }));
    follow.observe(at);
    return () => {
      follow.disconnect();
      plot.destroy();
    };
  }, [series, minutes, endMs, theme, language()]);
  const described = lines.map(({ name, total }) => `${nameOf(name)}: ${count(total, language())}`).join(', ');
  return html`<div class="chart">
    <div class="caption">
      ${title}
      <span class="legend">
        ${lines.map(
          ({ name, total }, index) =>
            html`<span key=${name}
              ><i class=${`line line-${index % COLOURS.length}`}></i>${nameOf(name)}
              <b class="num">${count(total, language())}</b></span
            >`,
        )}
      </span>
    </div>
    <div ref=${box} class="plot" role="img" aria-label=${described || t('noCounts')}></div>
    <div ref=${readout} class="readout num muted"></div>
  </div>`;
}

/** @param {number} atMs @param {number} minutes */
function label(atMs, minutes) {
  const text = absolute(atMs);
  return minutes > 1_440 ? text.slice(5, 10) : text.slice(11, 16);
}
