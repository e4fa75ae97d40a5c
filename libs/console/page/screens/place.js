// What is at an address of two parts or more: a list, or all about one thing. The server says what it has: sentences, actions,
// facts, and lists with their columns.
import { useState } from 'preact/hooks';
import { api } from '../api.js';
import { html } from '../dom.js';
import { readFilter, writeFilter } from '../filters.js';
import { count } from '../format.js';
import { page, sectionOf, useLoad } from '../hooks.js';
import { Empty, Outcome, Pages, Table } from '../parts/table.js';
import { Instant, Sentence, Val } from '../parts/value.js';
import { hashOf, hashOfTarget } from '../route.js';
import { nameOf, partsOf, t } from '../words.js';

/**
 * @import { Address, Listing, Story, Target, Sentence as ServerSentence } from '../../src/console.types.ts'
 * @typedef {{ names: readonly string[], target: Target, text?: string | undefined }} Offered actions, and to what they apply
 */

/** The way to an address; its last part is the heading. @param {{ address: Address }} props */
const Crumbs = ({ address }) =>
  html`<nav class="crumbs" aria-label=${t('path')}>
    ${partsOf(address.slice(0, -1)).map((part, index) => html`<span key=${index}><a href=${hashOf(address.slice(0, index + 1))}>${part}</a> / </span>`)}
  </nav>`;

/** Choices of a list's filter, and a field for those that take a text. @param {{ address: Address, filters: readonly string[], filter: string }} props */
function Filters({ address, filters, filter }) {
  const { state, texts } = readFilter(filter, filters);
  const choices = filters.filter((each) => !each.endsWith(':'));
  const prefixes = filters.filter((each) => each.endsWith(':'));
  const [prefix, setPrefix] = useState(prefixes.find((each) => each in texts) ?? prefixes[0] ?? '');
  // Tasks are read by state, so there is no list of all: without a filter it has those that wait.
  const tabs = choices.includes('waiting') ? choices : ['', ...choices];
  const current = state === '' ? tabs[0] : state;
  /** @param {Partial<import('../filters.js').Filter>} change */
  const hash = (change) => hashOf(address, { filter: writeFilter({ state, texts, ...change }) });
  const submit = (/** @type {any} */ event) => {
    event.preventDefault();
    location.hash = hash({ texts: { ...texts, [prefix]: event.target.elements.text.value } });
  };
  return html`<div class="row">
    ${
      choices.length > 0 &&
      html`<nav class="tabs" aria-label=${t('filter')}>
        ${tabs.map((each) => html`<a key=${each} href=${hash({ state: each })} aria-current=${current === each ? 'true' : undefined}>${each === '' ? t('all') : nameOf(each)}</a>`)}
      </nav>`
    }
    ${
      prefixes.length > 0 &&
      html`<form class="filter-form row" onSubmit=${submit}>
        <select aria-label=${t('filterBy')} value=${prefix} onChange=${(event) => setPrefix(event.target.value)}>
          ${prefixes.map((each) => html`<option key=${each} value=${each}>${nameOf(each.slice(0, -1))}</option>`)}
        </select>
        <input
          key=${prefix + filter}
          name="text"
          aria-label=${t('filterText')}
          placeholder=${t('filterText')}
          defaultValue=${texts[prefix] ?? ''}
          autocomplete="off"
        />
      </form>`
    }
    ${Object.entries(texts).map(([name, text]) => {
      const label = nameOf(name.slice(0, -1));
      const without = hash({ texts: { ...texts, [name]: '' } });
      return html`<a key=${name} class="chip used" href=${without} title=${t('dropFilter', { filter: label })}
        >${label}: <span class="text">${text}</span> ✕</a
      >`;
    })}
  </div>`;
}

/** Buttons of actions, which open the dialog. @param {Offered} props */
function Actions({ names, target, text }) {
  const [section = ''] = 'address' in target ? target.address : target.list;
  const actions = names.flatMap((name) => sectionOf(section)?.actions.find((each) => each.name === name) ?? []);
  if (page.ask === undefined || actions.length === 0) return null;
  return html`<div class="actions row" role="group" aria-label=${t('actions')}>
    ${text && html`<span class="muted">${text}</span>`}
    ${actions.map(
      ({ name, danger }) =>
        html`<button key=${name} class=${danger ? 'danger' : ''} onClick=${() => page.ask?.(section, name, target)}>
          ${nameOf(name)}…
        </button>`,
    )}
  </div>`;
}

/** Returns the actions on all that a list shows. @param {Address} address @param {string | undefined} filter @returns {Offered} */
function offeredOnAll(address, filter) {
  const [section, list = ''] = address;
  const actions = (address.length === 2 && sectionOf(section)?.actions) || [];
  const all = actions.filter(({ on, lists }) => on !== 'one' && (lists === undefined || lists.includes(list)));
  const target = { list: address, ...(filter && { filter }) };
  return { names: all.map(({ name }) => name), target, text: t(filter ? 'allOfFilter' : 'allOfList') };
}

/** Returns the actions of a thing. An action that a sentence offers is not offered twice. @param {Address} address @param {Story} story @returns {Offered} */
function offeredOnOne(address, { actions, sentences }) {
  const isHere = (/** @type {ServerSentence} */ { fix }) => fix && hashOfTarget(fix) === hashOf(address);
  const offered = sentences.filter(isHere).map(({ fix }) => fix?.action);
  return { names: actions.filter((name) => !offered.includes(name)), target: { address } };
}

/** Facts of a thing, and what has a place of its own: payloads and lists. @param {{ address: Address, story: Story }} props */
function About({ address, story: { facts, lists = [] } }) {
  const isPayload = (/** @type {Story['facts'][number]} */ { value }) => Object.hasOwn(Object(value), 'payload');
  return html`<dl class="facts">
      ${facts
        .filter((fact) => !isPayload(fact))
        .map(
          ({ name, value }) =>
            html`<div key=${name}>
              <dt>${nameOf(name)}</dt>
              <dd><${Val} value=${value} /></dd>
            </div>`,
        )}
    </dl>
    ${facts.filter(isPayload).map(
      ({ name, value }) =>
        html`<section key=${name}>
          <h2>${nameOf(name)}</h2>
          <${Val} value=${value} wide />
        </section>`,
    )}
    ${lists.map(({ name, listing: { sentences = [], nextCursor, ...listing } }) => {
      const label = nameOf(name);
      const total = listing.total === undefined ? '' : count(listing.total);
      return html`<section key=${name}>
        <h2>${label} <span class="muted num">${total}</span></h2>
        ${sentences.map((sentence) => html`<${Sentence} key=${sentence.code} sentence=${sentence} />`)}
        ${listing.rows.length === 0 ? html`<p class="muted">${t('emptyPart')}</p>` : html`<${Table} listing=${listing} label=${label} />`}
        ${nextCursor && html`<a class="button small" href=${hashOf([...address, name], { list: 1, cursor: nextCursor })}>${t('nextPage')}</a>`}
      </section>`;
    })}`;
}

/** @param {{ route: import('../route.js').Route }} props */
export function PlaceScreen({ route: { address, query } }) {
  const [section, name] = address;
  const isList = address.length === 2 || query.list !== undefined;
  const loaded = useLoad(
    hashOf(address, query),
    /** @returns {Promise<{ story?: Story, listing?: Listing }>} */
    async (signal) => {
      if (isList) return { listing: await api.list(address, query, signal) };
      try {
        return { story: await api.show(address, signal) };
      } catch (error) {
        if (/** @type {import('../api.js').ApiError} */ (error).status !== 404) throw error;
        // Some lists have an address like that of a thing. If this is not one, the first error stands.
        return { listing: await api.list(address, query, signal).catch(() => Promise.reject(error)) };
      }
    },
    { section },
  );
  const { story, listing } = loaded.value ?? {};
  const { filter = '' } = query;
  const filters = (address.length === 2 && sectionOf(section)?.lists.find((each) => each.name === name)?.filters) || [];
  const heading = (story ? story.title : partsOf(address).at(-1)) || t('noName');
  return html`<${Crumbs} address=${address} />
    <header class="row between">
      <h1 tabindex="-1" class="text">${heading}</h1>
      <span class="row small muted">
        ${loaded.atMs > 0 && html`${t('read')} <${Instant} atMs=${loaded.atMs} />`}
        <button class="small" onClick=${loaded.reload} title=${`${t('reload')} (r)`}>${t('reload')}</button>
      </span>
    </header>
    ${
      !story &&
      html`<div class="bar row between">
        <${Filters} key=${hashOf(address)} address=${address} filters=${filters} filter=${filter} />
        <${Actions} ...${offeredOnAll(address, filter)} />
      </div>`
    }
    <${Outcome} loaded=${loaded} />
    <div class="why box">
      ${(story ?? listing)?.sentences?.map((sentence) => html`<${Sentence} key=${sentence.code} sentence=${sentence} />`)}
    </div>
    ${story && html`<${Actions} ...${offeredOnOne(address, story)} /><${About} address=${address} story=${story} />`}
    ${
      listing &&
      html`<${Pages} listing=${listing} label=${heading} to=${address} query=${query}>
        <${Empty} title=${t(filter ? 'nothingMatches' : 'emptyList')}>
          ${filter && html`<a class="button" href=${hashOf(address)}>${t('showAll')}</a>`}
        <//>
      <//>`
    }`;
}
