// The frame of all screens: search, navigation, the state of the live connection, language and theme.
import { useState } from 'preact/hooks';
import { html } from '../dom.js';
import { page } from '../hooks.js';
import { live } from '../live.js';
import { hashOf } from '../route.js';
import { levelOf } from '../screens/overview.js';
import { nextTheme, settings } from '../settings.js';
import { language, nameOf, nextLanguage, t } from '../words.js';
import { Dot } from './value.js';

/** @typedef {import('../route.js').Route} Route */

/** The id of a search stays in the field. The field is made again for another id, and keeps what is typed meanwhile. @param {{ id: string }} props */
function Search({ id }) {
  const submit = (/** @type {any} */ event) => {
    event.preventDefault();
    const text = event.target.elements.id.value.trim();
    if (text !== '') location.hash = hashOf('find', { id: text });
  };
  return html`<form class="search" role="search" onSubmit=${submit}>
    <input
      id="search"
      key=${id}
      name="id"
      type="search"
      aria-label=${t('find')}
      placeholder=${t('findPlaceholder')}
      defaultValue=${id}
      autocomplete="off"
      spellcheck=${false}
    />
    <kbd aria-hidden="true">/</kbd>
  </form>`;
}

/** @param {{ route: Route }} props */
function Nav({ route: { screen, address } }) {
  const item = (/** @type {Parameters<typeof hashOf>[0]} */ to, /** @type {any} */ text, /** @type {any} */ below) => {
    const here = typeof to === 'string' ? screen === to : to.every((part, index) => part === address[index]);
    const isPage = here && (typeof to === 'string' || to.length === 2 || address.length === 1);
    return html`<li key=${hashOf(to)}>
      <a href=${hashOf(to)} aria-current=${isPage ? 'page' : here ? 'true' : undefined}>${text}</a>
      ${here && below}
    </li>`;
  };
  return html`<ul>
      ${item('overview', t('overview'), undefined)}
    </ul>
    <ul>
      ${page.me.sections.map(({ name, lists }) => {
        const level = levelOf(live.overview?.sections.find((each) => each.name === name));
        const text = html`${nameOf(name)}
        ${(level === 'error' || level === 'warning') && html`<${Dot} level=${level} />`}`;
        return item(
          [name],
          text,
          html`<ul>
            ${lists.map((list) => item([name, list.name], nameOf(list.name), undefined))}
          </ul>`,
        );
      })}
    </ul>
    <ul>
      ${item('history', t('history'), undefined)} ${item('log', t('log'), undefined)}
    </ul>`;
}

/** @param {{ route: Route, children: any, onHelp: () => void }} props */
export function Frame({ route, children, onHelp }) {
  const [open, setOpen] = useState(false);
  const { actor, readOnly } = page.me;
  const { state } = live;
  const change = (/** @type {() => void} */ next) => () => {
    next();
    page.redraw();
  };
  const skip = (/** @type {Event} */ event) => {
    event.preventDefault();
    document.querySelector('main')?.focus();
  };
  return html`<a class="skip" href="#main" onClick=${skip}>${t('skip')}</a>
    <header class="top row">
      <button
        class="menu"
        aria-expanded=${String(open)}
        aria-controls="nav"
        aria-label=${t('menu')}
        onClick=${() => setOpen(!open)}
      >
        ☰
      </button>
      <a class="brand" href=${hashOf('overview')}>luanest</a>
      <${Search} id=${route.screen === 'find' ? (route.query.id ?? '') : ''} />
      <button
        id="live"
        class=${`quiet ${state}`}
        aria-pressed=${String(state === 'paused')}
        title=${t(`live-${state}-hint`)}
        onClick=${live.toggle}
      >
        <i class="dot ${state === 'live' ? 'ok' : state === 'broken' ? 'error' : 'warning'}" aria-hidden="true"></i>
        ${t(`live-${state}`)}
      </button>
      <button id="language" class="quiet" lang=${language() === 'zh' ? 'en' : 'zh-CN'} onClick=${change(nextLanguage)}>
        ${language() === 'zh' ? 'English' : '中文'}
      </button>
      <button id="theme" class="quiet" title=${t('theme')} onClick=${change(nextTheme)}>
        ${t(`theme-${settings.theme}`)}
      </button>
      <button id="help" class="quiet" aria-label=${t('keys')} title=${t('keys')} onClick=${onHelp}>?</button>
    </header>
    <nav
      id="nav"
      class=${open ? 'side open' : 'side'}
      aria-label=${t('sections')}
      onClick=${(event) => event.target.closest('a') && setOpen(false)}
    >
      <${Nav} route=${route} />
      <p class="actor row muted">
        <span class="text" title=${t('actor')}>${actor}</span>
        <span class="chip" title=${t(page.ask ? 'mayActHint' : readOnly ? 'readOnlyHint' : 'readRoleHint')}
          >${t(page.ask ? 'mayAct' : 'readOnly')}</span
        >
      </p>
    </nav>
    <main id="main" tabindex="-1">
      ${state !== 'live' && html`<p class=${`banner ${state}`} role="status">${t(`live-${state}-hint`)}</p>`}
      ${children}
    </main>`;
}
