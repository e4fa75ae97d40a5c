// The log of actions: who did what to what, and what came out.
import { api } from '../api.js';
import { html } from '../dom.js';
import { useLoad } from '../hooks.js';
import { textOfTarget } from '../parts/dialog.js';
import { Empty, Outcome, Pages } from '../parts/table.js';
import { NamedValue, Sentence } from '../parts/value.js';
import { hashOfTarget } from '../route.js';
import { nameOf, t } from '../words.js';

const COLUMNS = [
  { name: 'when', kind: 'instant' },
  { name: 'who' },
  { name: 'action' },
  { name: 'target' },
  { name: 'count', kind: 'number' },
  { name: 'result', kind: 'prose' },
];
const LEVELS = /** @type {const} */ ({ done: 'ok', started: 'info', refused: 'warning', failed: 'error' });

/** @param {import('../api.js').LogItem} item */
function rowOf({ atMs, actor, section, action, target, result, count, refused, message, input = {} }) {
  const what = html`<span>
    <span class="muted">${nameOf(section)}</span>
    <a class="text" href=${hashOfTarget(target)}>${textOfTarget(target)}</a>
    ${Object.entries(input).map(([name, value]) => html` <span class="muted">${nameOf(name)} <${NamedValue} name=${name} value=${value} /></span>`)}
  </span>`;
  const out = html`<span>
    ${nameOf(result)} ${refused && html`<${Sentence} sentence=${refused} quiet />`}
    ${message && html`<div class="error text">${message}</div>`}
  </span>`;
  const level = LEVELS[/** @type {keyof typeof LEVELS} */ (result)];
  return { level, cells: [{ atMs }, actor, nameOf(action), what, count ?? null, out] };
}

/** @param {{ route: import('../route.js').Route }} props */
export function LogScreen({ route: { query } }) {
  const loaded = useLoad(`log ${query.cursor ?? ''}`, (signal) => api.log(query.cursor, signal));
  const { value } = loaded;
  return html`<header class="row between">
      <h1 tabindex="-1">${t('log')}</h1>
      <span class="muted">${t('logKept')}</span>
    </header>
    <${Outcome} loaded=${loaded} />
    ${
      value &&
      html`<${Pages}
        listing=${{ ...value, columns: COLUMNS, rows: value.items.map(rowOf) }}
        label=${t('log')}
        to="log"
        query=${query}
      >
        <${Empty} title=${t('emptyLog')} hint=${t('emptyLogHint')} />
      <//>`
    }`;
}
