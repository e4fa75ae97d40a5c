// A table of a list, and what stands where a list, a load or a screen has nothing to show.
import { html } from '../dom.js';
import { hashOf } from '../route.js';
import { nameOf, t } from '../words.js';
import { Dot, Val } from './value.js';

/**
 * @typedef {import('../../src/console.types.ts').Column} Column
 * @typedef {import('../../src/console.types.ts').Row} Row
 */

const NUMBERS = new Set(['number', 'duration', 'bytes']);

/** @param {Column} column */
const classOf = ({ kind = 'text' }) => (NUMBERS.has(kind) ? 'right' : kind);

/**
 * Rows of a list. The first cell of a row with an address is its link.
 * @param {{ columns: readonly Column[], rows: readonly Row[], label: string }} props
 */
export function Table({ columns, rows, label }) {
  return html`<div class="table-box" tabindex="0" role="region" aria-label=${label}>
    <table>
      <thead>
        <tr>
          ${columns.map((column) => html`<th key=${column.name} scope="col" class=${classOf(column)}>${nameOf(column.name)}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map((row, index) => html`<${TableRow} key=${row.address ? hashOf(row.address) : index} row=${row} columns=${columns} />`)}
      </tbody>
    </table>
  </div>`;
}

/** Text of a cell that may be cut off. @param {import('./value.js').AnyValue | undefined} value */
function titleOf(value) {
  const text = typeof value === 'object' && value !== null && 'link' in value ? value.text : value;
  return typeof text === 'string' && text.length > 30 ? text : undefined;
}

/** @param {{ row: Row, columns: readonly Column[] }} props */
function TableRow({ row, columns }) {
  const { address, cells, level } = row;
  const [first] = cells;
  const isLink = typeof first === 'object' && first !== null && 'link' in first;
  /** @param {number} index */
  const cell = (index) => {
    const value = html`<${Val} value=${cells[index]} />`;
    if (index > 0 || address === undefined || isLink) return value;
    return html`<a href=${hashOf(address)}>${value}</a>`;
  };
  return html`<tr class=${level ?? ''}>
    ${columns.map(
      (column, index) =>
        html`<td key=${column.name} class=${classOf(column)} title=${titleOf(cells[index])}>
          ${index === 0 && level && html`<${Dot} level=${level} /> `}${cell(index)}
        </td>`,
    )}
  </tr>`;
}

/** @param {{ title: string, hint?: string, children?: any }} props */
export const Empty = ({ title, hint, children }) =>
  html`<div class="empty">
    <p class="empty-title">${title}</p>
    ${hint && html`<p>${hint}</p>`} ${children}
  </div>`;

/** A load that failed, with what to do. @param {{ error: Error & { status?: number }, reload: () => void }} props */
export function Failure({ error, reload }) {
  const { status } = error;
  const [title, hint] =
    status === 404
      ? [t('gone'), t('goneHint')]
      : status === 401 || status === 403
        ? [t('refused'), t('refusedHint')]
        : status === 0
          ? [t('noServer'), t('noServerHint')]
          : [t('failed'), t('failedHint')];
  return html`<div class="empty failure" role="alert">
    <p class="empty-title">${title}</p>
    <p>${hint}</p>
    ${status !== 404 && html`<p class="text"><code>${error.message}</code></p>`}
    <button onClick=${reload}>${t('again')}</button>
  </div>`;
}

/** Lines where a table or a story will be. */
export const Skeleton = () =>
  html`<div class="skeleton" role="status" aria-label=${t('loading')}><i></i><i></i><i></i><i></i></div>`;
