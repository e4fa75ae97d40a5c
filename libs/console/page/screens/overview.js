// How everything is, or one section: first what needs somebody, then the numbers and the lists.
import { api } from '../api.js';
import { html } from '../dom.js';
import { page, sectionOf, useLoad } from '../hooks.js';
import { live } from '../live.js';
import { Empty, Outcome } from '../parts/table.js';
import { Dot, Sentence, Val } from '../parts/value.js';
import { hashOf } from '../route.js';
import { nameOf, t } from '../words.js';

/** @import { SectionState } from '../api.js' */

const ORDER = /** @type {const} */ (['error', 'warning', 'info', 'ok']);

/** Returns the worst level of a section. @param {SectionState | undefined} section */
export function levelOf(section) {
  if (section?.failed !== undefined) return 'error';
  return ORDER.find((level) => section?.summary?.sentences.some((sentence) => sentence.level === level)) ?? 'ok';
}

/** @param {{ section: SectionState, quiet: boolean }} props quiet: its sentences are above */
function Card({ section, quiet }) {
  const { name, summary, failed } = section;
  const calm = summary?.sentences.filter(({ level }) => !quiet && ['ok', 'info'].includes(level)) ?? [];
  return html`<section class="card box">
    <h2><${Dot} level=${levelOf(section)} /> <a href=${hashOf([name])}>${nameOf(name)}</a></h2>
    ${failed !== undefined && html`<p class="error text" role="alert">${t('sectionFailed')} <code>${failed}</code></p>`}
    ${
      summary &&
      summary.figures.length > 0 &&
      html`<dl class="numbers">
        ${summary.figures.map(
          ({ name: figure, value, address }) =>
            html`<div key=${figure}>
              <dt>${nameOf(figure)}</dt>
              <dd>
                ${address ? html`<a href=${hashOf(address)}><${Val} value=${value} /></a>` : html`<${Val} value=${value} />`}
              </dd>
            </div>`,
        )}
      </dl>`
    }
    ${calm.slice(0, 2).map((sentence) => html`<${Sentence} key=${sentence.code} sentence=${sentence} quiet />`)}
    <p class="lists row">
      ${sectionOf(name)?.lists.map((list) => html`<a class="chip" key=${list.name} href=${hashOf([name, list.name])}>${nameOf(list.name)}</a>`)}
    </p>
  </section>`;
}

/** @param {{ only?: string | undefined }} props name of a section; undefined: all */
export function OverviewScreen({ only }) {
  const loaded = useLoad('overview', () => (live.overview ? Promise.resolve(live.overview) : api.overview()));
  const overview = live.overview ?? loaded.value;
  const heading = html`<h1 tabindex="-1">${only === undefined ? t('overview') : nameOf(only)}</h1>`;
  if (only !== undefined && sectionOf(only) === undefined)
    return html`${heading}<${Empty} title=${t('gone')} hint=${t('noSuchSection')} />`;
  if (page.me.sections.length === 0)
    return html`${heading}<${Empty} title=${t('noSections')} hint=${t('noSectionsHint')} />`;
  if (overview === undefined) return html`${heading}<${Outcome} loaded=${loaded} />`;
  const sections = overview.sections.filter(({ name }) => only === undefined || name === only);
  const urgent = ORDER.slice(0, only === undefined ? 2 : 4).flatMap((level) =>
    sections.flatMap(({ name, summary }) =>
      (summary?.sentences ?? []).filter((each) => each.level === level).map((sentence) => ({ name, sentence })),
    ),
  );
  const failed = sections.some((each) => each.failed !== undefined);
  return html`${heading}
    <section class="attention box" aria-label=${t('attention')}>
      ${urgent.length === 0 && !failed && html`<p class="urgent"><${Dot} level="ok" /> ${t('allWell')}</p>`}
      ${urgent.map(
        ({ name, sentence }, index) =>
          html`<div class="urgent" key=${index}>
            ${only === undefined && html`<a href=${hashOf([name])}>${nameOf(name)}</a>`}
            <${Sentence} sentence=${sentence} />
          </div>`,
      )}
    </section>
    <div class="cards">
      ${sections.map((section) => html`<${Card} key=${section.name} section=${section} quiet=${only !== undefined} />`)}
    </div>`;
}
