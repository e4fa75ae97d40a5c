// The log of actions: who did what to what, and what came out.
import { api } from '../api.js';
import { html } from '../dom.js';
import { count } from '../format.js';
import { useLoad } from '../hooks.js';
import { textOfTarget } from '../parts/dialog.js';
import { Empty, Failure, Skeleton } from '../parts/table.js';
import { Dot, Instant, Sentence } from '../parts/value.js';
import { hashOf } from '../route.js';
import { language, nameOf, t } from '../words.js';

/** @typedef {import('../api.js').LogItem} LogItem */

/** @type {Readonly<Record<string, 'ok' | 'info' | 'warning' | 'error'>>} */
const LEVELS = { done: 'ok', started: 'info', refused: 'warning', failed: 'error' };

/** @param {{ item: LogItem }} props */
function Line({ item }) {
  const { atMs, actor, section, action, target, result, count: concerned, refused, message, input } = item;
  const to = 'address' in target ? hashOf(target.address) : hashOf(target.list, { filter: target.filter });
  const given = Object.entries(input ?? {});
  return html`<tr>
    <td class="instant"><${Instant} atMs=${atMs} /></td>
    <td class="text">${actor}</td>
    <td>${nameOf(action)}</td>
    <td>
      ${'address' in target && html`<span class="muted">${nameOf(section)} </span>`}<a class="text" href=${to}
        >${textOfTarget(target)}</a
      >
      ${given.map(([name, value]) => html` <span class="muted text">${nameOf(name)} ${name.endsWith('AtMs') || name === 'atMs' ? html`<${Instant} atMs=${value} />` : value}</span>`)}
    </td>
    <td class="right num">${concerned === undefined ? '–' : count(concerned, language())}</td>
    <td class="prose">
      <${Dot} level=${LEVELS[result] ?? 'info'} /> ${nameOf(result)}
      ${refused && html`<${Sentence} sentence=${refused} quiet />`}
      ${message && html`<div class="error-text text">${message}</div>`}
    </td>
  </tr>`;
}

/** @param {{ route: import('../route.js').Route }} props */
export function LogScreen({ route }) {
  const { cursor } = route.query;
  const { value, error, reload } = useLoad(`log ${cursor ?? ''}`, (signal) => api.log(cursor, signal));
  const items = value?.items ?? [];
  return html`<header class="head">
      <h1 tabindex="-1">${t('log')}</h1>
      <span class="muted">${t('logKept')}</span>
    </header>
    ${error && html`<${Failure} error=${error} reload=${reload} />`} ${!value && !error && html`<${Skeleton} />`}
    ${value && items.length === 0 && html`<${Empty} title=${t('emptyLog')} hint=${t('emptyLogHint')} />`}
    ${
      items.length > 0 &&
      html`<div class="table-box" tabindex="0" role="region" aria-label=${t('log')}>
        <table>
          <thead>
            <tr>
              <th scope="col">${t('when')}</th>
              <th scope="col">${t('who')}</th>
              <th scope="col">${t('action')}</th>
              <th scope="col">${t('target')}</th>
              <th scope="col" class="right">${t('count')}</th>
              <th scope="col">${t('result')}</th>
            </tr>
          </thead>
          <tbody>
            ${items.map((item, index) => html`<${Line} key=${`${item.atMs} ${index}`} item=${item} />`)}
          </tbody>
        </table>
      </div>`
    }
    ${
      (cursor || value?.nextCursor) &&
      html`<nav class="pages" aria-label=${t('pages')}>
        ${cursor && html`<a class="button small" href=${hashOf('log')}>${t('firstPage')}</a>`}
        ${value?.nextCursor && html`<a class="button small" rel="next" href=${hashOf('log', { cursor: value.nextCursor })}>${t('nextPage')}</a>`}
      </nav>`
    }`;
}
