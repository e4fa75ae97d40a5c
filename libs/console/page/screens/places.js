// A section, a list, and the story of one thing: what is at an address.
import { useState } from 'preact/hooks';
import { api } from '../api.js';
import { html } from '../dom.js';
import { readFilter, writeFilter } from '../filters.js';
import { count } from '../format.js';
import { useLive, useLoad } from '../hooks.js';
import { Empty, Failure, Skeleton, Table } from '../parts/table.js';
import { Instant, Sentence, Val } from '../parts/value.js';
import { hashOf } from '../route.js';
import { language, nameOf, stateOf, t } from '../words.js';
import { Numbers } from './overview.js';

/**
 * @typedef {import('../api.js').Address} Address
 * @typedef {import('../api.js').Me} Me
 * @typedef {import('../api.js').Story} Story
 * @typedef {import('../api.js').Listing} Listing
 * @typedef {import('../route.js').Route} Route
 * @typedef {(section: string, action: string, target: import('../api.js').Target) => void} Ask opens the dialog of an action
 * @typedef {{ me: Me, route: Route, ask?: Ask }} Props `ask` is undefined for a user who may not act
 */

/** The way to an address; its last part is the heading. @param {{ address: Address }} props */
function Crumbs({ address }) {
  const above = address.slice(0, -1);
  return html`<nav class="crumbs" aria-label=${t('path')}>
    ${above.map((part, index) => {
      const to = address.slice(0, index + 1);
      return html`<span key=${index}><a href=${hashOf(to)}>${index < 2 ? nameOf(part) : part}</a></span>`;
    })}
  </nav>`;
}

/** When what is shown was read, and a button that reads it again. @param {{ loaded: import('../hooks.js').Loaded<unknown> }} props */
const Freshness = ({ loaded }) =>
  html`<span class="freshness muted">
    ${loaded.atMs > 0 && html`${t('read')} <${Instant} atMs=${loaded.atMs} />`}
    <button class="small" data-reload onClick=${loaded.reload} title=${`${t('reload')} (r)`}>${t('reload')}</button>
  </span>`;

/** @param {{ loaded: import('../hooks.js').Loaded<unknown> }} props A load that failed while its last value is still shown. */
const Stale = ({ loaded }) =>
  loaded.error && loaded.value !== undefined
    ? html`<p class="error-text text" role="alert">${t('stale')} <code>${loaded.error.message}</code></p>`
    : null;

/** @param {Me} me @param {string | undefined} name */
const sectionOf = (me, name) => me.sections.find((each) => each.name === name);

/** @param {Props} props */
export function SectionScreen({ me, route, ask }) {
  const { overview: pushed } = useLive();
  const [name = ''] = route.address;
  const section = sectionOf(me, name);
  const loaded = useLoad('overview', () => (pushed ? Promise.resolve(pushed) : api.overview()));
  const state = (pushed ?? loaded.value)?.sections.find((each) => each.name === name);
  if (section === undefined)
    return html`<h1 tabindex="-1">${name}</h1>
      <${Empty} title=${t('gone')} hint=${t('noSuchSection')} />`;
  return html`<header class="head"><h1 tabindex="-1">${nameOf(name)}</h1></header>
    ${state === undefined && (loaded.error ? html`<${Failure} error=${loaded.error} reload=${loaded.reload} />` : html`<${Skeleton} />`)}
    ${state?.failed !== undefined && html`<p class="error-text text" role="alert">${t('sectionFailed')} <code>${state.failed}</code></p>`}
    ${state?.summary && html`<${Numbers} summary=${state.summary} />`}
    ${state?.summary?.sentences.map(
      (sentence, index) =>
        html`<${Sentence}
          key=${index}
          sentence=${sentence}
          here=""
          onAct=${ask && ((/** @type {string} */ action, /** @type {Address} */ address) => ask(address[0] ?? name, action, { address }))}
        />`,
    )}
    <ul class="lists">
      ${section.lists.map(
        (list) =>
          html`<li key=${list.name}>
            <a href=${hashOf([name, list.name])}>${nameOf(list.name)}</a>
            ${list.filters
              .filter((filter) => !filter.endsWith(':'))
              .map(
                (filter) =>
                  html`<a class="chip" key=${filter} href=${hashOf([name, list.name], { filter })}
                    >${nameOf(filter)}</a
                  >`,
              )}
          </li>`,
      )}
    </ul>`;
}

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
  return html`<div class="filters">
    ${
      choices.length > 0 &&
      html`<nav class="tabs" aria-label=${t('filter')}>
        ${tabs.map((each) => html`<a key=${each} href=${hash({ state: each })} aria-current=${current === each ? 'true' : undefined}>${each === '' ? t('all') : nameOf(each)}</a>`)}
      </nav>`
    }
    ${
      prefixes.length > 0 &&
      html`<form class="filter-form" onSubmit=${submit}>
        <select
          aria-label=${t('filterBy')}
          value=${prefix}
          onChange=${(/** @type {any} */ event) => setPrefix(event.target.value)}
        >
          ${prefixes.map((each) => html`<option key=${each} value=${each}>${nameOf(each.slice(0, -1))}</option>`)}
        </select>
        <input
          key=${prefix + filter}
          name="text"
          aria-label=${t('filterText')}
          placeholder=${t('filterText')}
          value=${texts[prefix] ?? ''}
          autocomplete="off"
        />
      </form>`
    }
    ${Object.entries(texts).map(
      ([name, text]) =>
        html`<a
          key=${name}
          class="chip used"
          href=${hash({ texts: { ...texts, [name]: '' } })}
          title=${t('dropFilter', { filter: nameOf(name.slice(0, -1)) })}
          >${nameOf(name.slice(0, -1))}: <span class="text">${text}</span> ✕</a
        >`,
    )}
  </div>`;
}

/** Rows of a page, and the way to the next. @param {{ listing: Listing, address: Address, query: Readonly<Record<string, string>>, label: string, filtered: boolean }} props */
function Rows({ listing, address, query, label, filtered }) {
  const { columns, rows, nextCursor, total } = listing;
  const { cursor, filter } = query;
  if (rows.length === 0 && nextCursor === undefined) {
    return filtered
      ? html`<${Empty} title=${t('nothingMatches')} hint=${t('nothingMatchesHint')}>
          <a class="button" href=${hashOf(address)}>${t('showAll')}</a>
        <//>`
      : cursor
        ? html`<${Empty} title=${t('endOfList')}
            ><a class="button" href=${hashOf(address, { filter })}>${t('firstPage')}</a><//
          >`
        : html`<${Empty} title=${t('emptyList')} hint=${t('emptyListHint')} />`;
  }
  return html`${rows.length === 0 ? html`<${Empty} title=${t('noneYet')} hint=${t('noneYetHint')} />` : html`<${Table} columns=${columns} rows=${rows} label=${label} />`}
    <nav class="pages" aria-label=${t('pages')}>
      <span class="muted num"
        >${t('rows', { count: count(rows.length, language()) })}${total === undefined ? '' : ` ${t('ofTotal', { total: count(total, language()) })}`}</span
      >
      ${cursor && html`<a class="button small" href=${hashOf(address, { filter, list: query.list })}>${t('firstPage')}</a>`}
      ${nextCursor !== undefined && html`<a class="button small" rel="next" href=${hashOf(address, { filter, cursor: nextCursor, list: query.list })}>${t('nextPage')}</a>`}
    </nav>`;
}

/** @param {Props & { loaded: import('../hooks.js').Loaded<Listing> }} props */
function ListView({ me, route, ask, loaded }) {
  const { address, query } = route;
  const [section = '', name = ''] = address;
  const known = sectionOf(me, section);
  const filters = (address.length === 2 && known?.lists.find((each) => each.name === name)?.filters) || [];
  const actions = (address.length === 2 && ask && known?.actions) || [];
  const onAll = actions.filter(({ on, lists }) => on !== 'one' && (lists === undefined || lists.includes(name)));
  const { filter = '' } = query;
  const heading = address.length <= 2 ? nameOf(name) : nameOf(address.at(-1) ?? '');
  return html`<${Crumbs} address=${address} />
    <header class="head">
      <h1 tabindex="-1">${heading}</h1>
      <${Freshness} loaded=${loaded} />
    </header>
    <div class="bar">
      <${Filters} key=${hashOf(address)} address=${address} filters=${filters} filter=${filter} />
      ${
        onAll.length > 0 &&
        html`<div class="buttons" role="group" aria-label=${t('actionsOnAll')}>
          <span class="muted">${t(filter === '' ? 'allOfList' : 'allOfFilter')}</span>
          ${onAll.map(
            ({ name: action, danger }) =>
              html`<button
                key=${action}
                class=${danger ? 'small danger' : 'small'}
                onClick=${() => ask?.(section, action, { list: address, ...(filter !== '' && { filter }) })}
              >
                ${nameOf(action)}…
              </button>`,
          )}
        </div>`
      }
    </div>
    <${Stale} loaded=${loaded} />
    ${loaded.value?.sentences?.map((sentence, index) => html`<${Sentence} key=${index} sentence=${sentence} here="" onAct=${ask && ((/** @type {string} */ action, /** @type {Address} */ to) => ask(to[0] ?? section, action, { address: to }))} />`)}
    ${
      loaded.value
        ? html`<${Rows}
            listing=${loaded.value}
            address=${address}
            query=${query}
            label=${heading}
            filtered=${filter !== ''}
          />`
        : loaded.error
          ? html`<${Failure} error=${loaded.error} reload=${loaded.reload} />`
          : html`<${Skeleton} />`
    }`;
}

/** @param {Props & { story: Story, loaded: import('../hooks.js').Loaded<unknown> }} props */
function StoryView({ me, route, ask, story, loaded }) {
  const { address } = route;
  const [section = ''] = address;
  const known = sectionOf(me, section);
  const here = hashOf(address);
  const offered = new Set(
    story.sentences.flatMap(({ fix }) => (fix && hashOf(fix.address) === here ? fix.action : [])),
  );
  // An action that a sentence offers is not offered twice.
  const names = story.actions.filter((name) => !offered.has(name));
  const actions = names.flatMap((name) => known?.actions.find((each) => each.name === name) ?? []);
  const isPayload = (/** @type {Story['facts'][number]} */ { value }) =>
    typeof value === 'object' && value !== null && 'payload' in value && value.payload !== undefined;
  const plain = story.facts.filter((fact) => !isPayload(fact));
  return html`<${Crumbs} address=${address} />
    <header class="head">
      <h1 tabindex="-1" class="text">${story.title === '' ? t('noName') : story.title}</h1>
      <${Freshness} loaded=${loaded} />
    </header>
    <${Stale} loaded=${loaded} />
    <div class="why">
      ${story.sentences.map((sentence, index) => html`<${Sentence} key=${index} sentence=${sentence} here=${hashOf(address)} onAct=${ask && ((/** @type {string} */ action, /** @type {Address} */ to) => ask(to[0] ?? section, action, { address: to }))} />`)}
    </div>
    ${
      ask &&
      actions.length > 0 &&
      html`<div class="buttons" role="group" aria-label=${t('actions')}>
        ${actions.map(
          ({ name, danger }) =>
            html`<button key=${name} class=${danger ? 'danger' : ''} onClick=${() => ask(section, name, { address })}>
              ${nameOf(name)}…
            </button>`,
        )}
      </div>`
    }
    <dl class="facts">
      ${plain.map(
        ({ name, value }) =>
          html`<div key=${name}>
            <dt>${nameOf(name)}</dt>
            <dd><${Val} value=${value} /></dd>
          </div>`,
      )}
    </dl>
    ${story.facts.filter(isPayload).map(
      ({ name, value }) =>
        html`<section key=${name}>
          <h2>${nameOf(name)}</h2>
          <${Val} value=${value} wide />
        </section>`,
    )}
    ${story.lists?.map(({ name, listing }) => {
      const more = listing.nextCursor !== undefined;
      return html`<section key=${name}>
        <h2>
          ${nameOf(name)}${listing.total === undefined ? '' : html` <span class="muted num">${count(listing.total, language())}</span>`}
        </h2>
        ${listing.sentences?.map((sentence, index) => html`<${Sentence} key=${index} sentence=${sentence} />`)}
        ${listing.rows.length === 0 ? html`<p class="muted">${t('emptyPart')}</p>` : html`<${Table} columns=${listing.columns} rows=${listing.rows} label=${nameOf(name)} />`}
        ${more && html`<nav class="pages" aria-label=${t('pages')}><a class="button small" href=${hashOf([...address, name], { list: 1, cursor: listing.nextCursor })}>${t('nextPage')}</a></nav>`}
      </section>`;
    })}`;
}

/** List or story at an address of two parts or more. @param {Props} props */
export function PlaceScreen({ me, route, ask }) {
  const { address, query } = route;
  const key = hashOf(address, { filter: query.filter, cursor: query.cursor, list: query.list });
  const list = (/** @type {AbortSignal} */ signal) => api.list(address, query.filter, query.cursor, signal);
  const isList = address.length === 2 || query.list !== undefined;
  const loaded = useLoad(
    key,
    async (signal) => {
      if (isList) return { listing: await list(signal) };
      try {
        return { story: await api.show(address, signal) };
      } catch (error) {
        const missing = /** @type {import('../api.js').ApiError} */ (error);
        if (missing.status !== 404) throw error;
        // Some lists have an address like that of a thing. If this is not one, the first error stands.
        return { listing: await list(signal).catch(() => Promise.reject(missing)) };
      }
    },
    { section: address[0] },
  );
  const { value } = loaded;
  if (value?.story)
    return html`<${StoryView} me=${me} route=${route} ask=${ask} story=${value.story} loaded=${loaded} />`;
  if (value?.listing || isList) {
    return html`<${ListView} me=${me} route=${route} ask=${ask} loaded=${{ ...loaded, value: value?.listing }} />`;
  }
  return html`<${Crumbs} address=${address} />
    <header class="head"><h1 tabindex="-1" class="text">${stateOf(address.at(-1) ?? '')}</h1></header>
    ${loaded.error ? html`<${Failure} error=${loaded.error} reload=${loaded.reload} />` : html`<${Skeleton} />`}`;
}
