// How everything is: first what needs somebody, then each section with its numbers.
import { api } from '../api.js';
import { html } from '../dom.js';
import { useLive, useLoad } from '../hooks.js';
import { Empty, Failure, Skeleton } from '../parts/table.js';
import { Dot, Sentence, Val } from '../parts/value.js';
import { hashOf } from '../route.js';
import { nameOf, t } from '../words.js';

/** @typedef {import('../api.js').Overview['sections'][number]} SectionState */

const ORDER = /** @type {const} */ (['error', 'warning', 'info', 'ok']);

/** Returns the worst level of a section. @param {SectionState | undefined} section */
export function levelOf(section) {
  if (section?.failed !== undefined) return 'error';
  return ORDER.find((level) => section?.summary?.sentences.some((sentence) => sentence.level === level)) ?? 'ok';
}

/** Numbers of a section. @param {{ summary: import('../api.js').Summary }} props */
export const Numbers = ({ summary }) =>
  html`<dl class="numbers">
    ${summary.figures.map(
      ({ name, value, address }) =>
        html`<div key=${name}>
          <dt>${nameOf(name)}</dt>
          <dd>
            ${address ? html`<a href=${hashOf(address)}><${Val} value=${value} /></a>` : html`<${Val} value=${value} />`}
          </dd>
        </div>`,
    )}
  </dl>`;

/** @param {{ section: SectionState }} props */
function Card({ section }) {
  const { name, summary, failed } = section;
  const calm = summary?.sentences.filter(({ level }) => level === 'ok' || level === 'info') ?? [];
  return html`<section class="card" aria-labelledby=${`card-${name}`}>
    <h2 id=${`card-${name}`}><${Dot} level=${levelOf(section)} /><a href=${hashOf([name])}>${nameOf(name)}</a></h2>
    ${failed !== undefined && html`<p class="error-text text">${t('sectionFailed')} <code>${failed}</code></p>`}
    ${summary && html`<${Numbers} summary=${summary} />`}
    ${calm.slice(0, 2).map((sentence) => html`<${Sentence} key=${sentence.code} sentence=${sentence} quiet />`)}
  </section>`;
}

/** @param {{ act?: (action: string, address: readonly string[]) => void }} props */
export function OverviewScreen({ act }) {
  const { overview: pushed } = useLive();
  // The first one, or all while the live connection does not work.
  const { value, error, reload } = useLoad('overview', () => (pushed ? Promise.resolve(pushed) : api.overview()));
  const overview = pushed ?? value;
  if (overview === undefined)
    return error ? html`<${Failure} error=${error} reload=${reload} />` : html`<${Skeleton} />`;
  const urgent = ORDER.slice(0, 2).flatMap((level) =>
    overview.sections.flatMap(({ name, summary }) =>
      (summary?.sentences ?? []).filter((each) => each.level === level).map((sentence) => ({ name, sentence })),
    ),
  );
  const failed = overview.sections.some((each) => each.failed !== undefined);
  return html`<h1 tabindex="-1">${t('overview')}</h1>
    ${overview.sections.length === 0 && html`<${Empty} title=${t('noSections')} hint=${t('noSectionsHint')} />`}
    ${
      overview.sections.length > 0 &&
      html`<section class="attention" aria-label=${t('attention')}>
        ${urgent.length === 0 && !failed && html`<p class="all-well"><${Dot} level="ok" />${t('allWell')}</p>`}
        ${urgent.map(
          ({ name, sentence }, index) =>
            html`<div class="urgent" key=${index}>
              <a class="urgent-section" href=${hashOf([name])}>${nameOf(name)}</a>
              <${Sentence} sentence=${sentence} onAct=${act} here="" />
            </div>`,
        )}
      </section>`
    }
    <div class="cards">
      ${overview.sections.map((section) => html`<${Card} key=${section.name} section=${section} />`)}
    </div>`;
}
