// A table of a list, and what stands where a list, a load or a screen has nothing to show.
import { html } from '../dom.js';
import { count } from '../format.js';
import { hashOf } from '../route.js';
import { nameOf, t } from '../words.js';
import { Dot, Val } from './value.js';

/**
 * @import { Address, Column, Listing, Row } from '../../src/console.types.ts'
 * @typedef {Omit<Row, 'cells'> & { cells: readonly import('./value.js').AnyValue[] }} AnyRow a row whose cells may have sentences and elements
 * @typedef {Omit<Listing, 'rows'> & { rows: readonly AnyRow[] }} AnyListing
 */

const NUMBERS = new Set(['number', 'duration', 'bytes']);

/** @param {Column} column */
const classOf = ({ kind = 'text' }) => (NUMBERS.has(kind) ? 'right num' : kind);

/** The first cell of a row with an address is its link. @param {{ row: AnyRow, columns: readonly Column[] }} props */
function TableRow({ row: { address, cells, level }, columns }) {
  const cell = (/** @type {number} */ index) => {
    const value = cells[index];
    const drawn = html`<${Val} value=${value} />`;
    const isLink = typeof value === 'object' && value !== null && 'link' in value;
    return index > 0 || address === undefined || isLink ? drawn : html`<a href=${hashOf(address)}>${drawn}</a>`;
  };
  // A text may be cut off.
  const titleOf = (/** @type {any} */ value) => (typeof value === 'string' ? value : value?.text);
  return html`<tr>
    ${columns.map(
      (column, index) =>
        html`<td key=${column.name} class=${classOf(column)} title=${titleOf(cells[index])}>
          ${index === 0 && level && html`<${Dot} level=${level} /> `}${cell(index)}
        </td>`,
    )}
  </tr>`;
}

/** @param {{ listing: AnyListing, label: string }} props */
export const Table = ({ listing: { columns, rows }, label }) =>
  html`<div class="table box" tabindex="0" role="region" aria-label=${label}>
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

/**
 * A page of a list, and the way to the others. Without rows on any page it has the children.
 * @param {{ listing: AnyListing, label: string, to: readonly string[] | 'log', query: Readonly<Record<string, string>>, children: any }} props
 */
export function Pages({ listing, label, to, query, children }) {
  const { rows, nextCursor, total } = listing;
  if (rows.length === 0 && nextCursor === undefined && !query.cursor) return children;
  const nothing = html`<${Empty}
    title=${t(nextCursor === undefined ? 'endOfList' : 'noneYet')}
    hint=${nextCursor && t('noneYetHint')}
  />`;
  return html`${rows.length === 0 ? nothing : html`<${Table} listing=${listing} label=${label} />`}
    <nav class="row" aria-label=${t('pages')}>
      <span class="muted num"
        >${t('rows', { count: count(rows.length) })}${total === undefined ? '' : ` ${t('ofTotal', { total: count(total) })}`}</span
      >
      ${query.cursor && html`<a class="button small" href=${hashOf(to, { ...query, cursor: undefined })}>${t('firstPage')}</a>`}
      ${nextCursor !== undefined && html`<a class="button small" rel="next" href=${hashOf(to, { ...query, cursor: nextCursor })}>${t('nextPage')}</a>`}
    </nav>`;
}

/** @param {{ title: string, hint?: string | undefined, children?: any }} props */
export const Empty = ({ title, hint, children }) =>
  html`<div class="empty box">
    <p class="title">${title}</p>
    ${hint && html`<p>${hint}</p>`} ${children}
  </div>`;

/** A load that is not done, or failed, with what to do; nothing once there is a value. @param {{ loaded: import('../hooks.js').Loaded<unknown> }} props */
export function Outcome({ loaded: { value, error, reload } }) {
  if (error === undefined) {
    if (value !== undefined) return null;
    return html`<div class="skeleton" role="status" aria-label=${t('loading')}><i></i><i></i><i></i><i></i></div>`;
  }
  if (value !== undefined)
    return html`<p class="error text" role="alert">${t('stale')} <code>${error.message}</code></p>`;
  const kind =
    error.status === 404
      ? 'gone'
      : [401, 403].includes(error.status ?? 0)
        ? 'refused'
        : error.status === 0
          ? 'noServer'
          : 'failed';
  return html`<div class="empty box failure" role="alert">
    <p class="title">${t(kind)}</p>
    <p>${t(`${kind}Hint`)}</p>
    ${kind !== 'gone' && html`<p class="text"><code>${error.message}</code></p>`}
    <button onClick=${reload}>${t('again')}</button>
  </div>`;
}
