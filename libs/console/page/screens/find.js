// What has an id: tasks, messages, locks, request keys, users, activities.
import { useEffect } from 'preact/hooks';
import { api } from '../api.js';
import { html } from '../dom.js';
import { useLoad } from '../hooks.js';
import { Empty, Outcome, Table } from '../parts/table.js';
import { hashOf } from '../route.js';
import { nameOf, partsOf, t } from '../words.js';

const COLUMNS = [{ name: 'id' }, { name: 'kind' }, { name: 'place' }, { name: 'state', kind: 'prose' }];

/** @param {{ route: import('../route.js').Route }} props */
export function FindScreen({ route }) {
  const { id = '' } = route.query;
  const loaded = useLoad(
    `find ${id}`,
    (signal) => (id === '' ? Promise.resolve({ matches: [], failed: [] }) : api.find(id, signal)),
    { refresh: false },
  );
  const { matches = [], failed = [] } = loaded.value ?? {};
  const only = matches.length === 1 && failed.length === 0 ? matches[0] : undefined;
  useEffect(() => {
    // The way back leads to what was shown before the search.
    if (only !== undefined) location.replace(hashOf(only.address));
  }, [only]);
  const rows = matches.map(({ address, kind, title, sentence }) => ({
    address,
    cells: [title, nameOf(kind), partsOf(address).slice(0, -1).join(' / '), sentence],
  }));
  const title = id === '' ? t('find') : t('found', { id });
  return html`<h1 tabindex="-1" class="text">${title}</h1>
    <${Outcome} loaded=${loaded} />
    ${failed.length > 0 && html`<p class="error" role="alert">${t('notSearched', { names: failed.map(nameOf).join(', ') })}</p>`}
    ${loaded.value && rows.length === 0 && html`<${Empty} title=${t(id === '' ? 'findWhat' : 'findNothing')} hint=${t('findHint')} />`}
    ${rows.length > 0 && html`<${Table} listing=${{ columns: COLUMNS, rows }} label=${title} />`}`;
}
