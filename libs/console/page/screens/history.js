// How the last hour, day or week was: counts per minute of the workers.
import { api } from '../api.js';
import { html } from '../dom.js';
import { useLoad } from '../hooks.js';
import { Chart } from '../parts/chart.js';
import { Empty, Outcome } from '../parts/table.js';
import { hashOf } from '../route.js';
import { t } from '../words.js';

const SPANS = /** @type {const} */ ([60, 360, 1_440, 10_080]);

/** @param {{ route: import('../route.js').Route }} props */
export function HistoryScreen({ route }) {
  const minutes = SPANS.find((each) => String(each) === route.query.minutes) ?? 1_440;
  const loaded = useLoad(`history ${minutes}`, (signal) => api.history(minutes, signal));
  const series = loaded.value?.series ?? [];
  // A new second is not a new picture.
  const endMs = Math.floor(loaded.atMs / 60_000) * 60_000;
  return html`<header class="row between">
      <h1 tabindex="-1">${t('history')}</h1>
      <nav class="tabs" aria-label=${t('span')}>
        ${SPANS.map((each) => html`<a key=${each} href=${hashOf('history', { minutes: each })} aria-current=${each === minutes ? 'true' : undefined}>${t(`span-${each}`)}</a>`)}
      </nav>
    </header>
    <${Outcome} loaded=${loaded} />
    ${loaded.value && series.length === 0 && html`<${Empty} title=${t('emptyHistory')} hint=${t('emptyHistoryHint')} />`}
    <div class="cards">
      ${series.map((each) => html`<${Chart} key=${each.section + each.name} series=${each} minutes=${minutes} endMs=${endMs} />`)}
    </div>`;
}
