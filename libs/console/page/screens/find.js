// What has an id: tasks, messages, locks, request keys, users, activities.
import { useEffect } from 'preact/hooks';
import { api } from '../api.js';
import { html } from '../dom.js';
import { useLoad } from '../hooks.js';
import { Empty, Failure, Skeleton } from '../parts/table.js';
import { Sentence } from '../parts/value.js';
import { hashOf } from '../route.js';
import { nameOf, t } from '../words.js';

/** @param {{ route: import('../route.js').Route }} props */
export function FindScreen({ route }) {
  const { id = '' } = route.query;
  const { value, error, reload } = useLoad(
    `find ${id}`,
    (signal) => (id === '' ? Promise.resolve({ matches: [] }) : api.find(id, signal)),
    { refresh: false },
  );
  const only = value?.matches.length === 1 ? value.matches[0] : undefined;
  useEffect(() => {
    // The way back leads to what was shown before the search.
    if (only !== undefined) location.replace(hashOf(only.address));
  }, [only]);
  const matches = value?.matches ?? [];
  return html`<h1 tabindex="-1" class="text">${id === '' ? t('find') : t('found', { id })}</h1>
    ${error && html`<${Failure} error=${error} reload=${reload} />`} ${!value && !error && html`<${Skeleton} />`}
    ${
      value &&
      matches.length === 0 &&
      html`<${Empty} title=${id === '' ? t('findWhat') : t('findNothing')} hint=${t('findHint')} />`
    }
    <ul class="matches">
      ${matches.map(
        ({ address, kind, title, sentence }) =>
          html`<li key=${hashOf(address)}>
            <a href=${hashOf(address)}><span class="kind">${nameOf(kind)}</span> <span class="text">${title}</span></a>
            <span class="muted text"
              >${address
                .slice(0, -1)
                .map((part, index) => (index < 2 ? nameOf(part) : part))
                .join(' / ')}</span
            >
            ${sentence && html`<${Sentence} sentence=${sentence} quiet />`}
          </li>`,
      )}
    </ul>`;
}
