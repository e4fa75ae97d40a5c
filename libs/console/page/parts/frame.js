// The frame of all screens: search, navigation, the state of the live connection, language and theme.
import { useState } from 'preact/hooks';
import { html } from '../dom.js';
import { useLive } from '../hooks.js';
import { live } from '../live.js';
import { hashOf } from '../route.js';
import { levelOf } from '../screens/overview.js';
import { nextTheme, settings } from '../settings.js';
import { language, nameOf, setLanguage, t } from '../words.js';
import { Dot } from './value.js';

/** @typedef {import('../route.js').Route} Route */

/** State of the live connection: a button that pauses and goes on. */
function LiveButton() {
  const { state } = useLive();
  const resting = state === 'paused' || state === 'hidden';
  return html`<button
    id="live"
    class=${`live ${state}`}
    aria-pressed=${state === 'paused' ? 'true' : 'false'}
    title=${t(`live-${state}-hint`)}
    onClick=${() => live.toggle()}
  >
    <i class="live-mark" aria-hidden="true">${resting ? '❚❚' : ''}</i>${t(`live-${state}`)}
  </button>`;
}

/** @param {{ id: string }} props */
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
      value=${id}
      autocomplete="off"
      spellcheck=${false}
    />
    <kbd aria-hidden="true">/</kbd>
  </form>`;
}

/** @param {{ me: import('../api.js').Me, route: Route }} props */
function Nav({ me, route }) {
  const { overview } = useLive();
  const current = (/** @type {string} */ hash) =>
    location.hash === hash || (hash === '#/' && location.hash === '') ? 'page' : undefined;
  const [section] = route.address;
  const item = (/** @type {string} */ hash, /** @type {string} */ text) =>
    html`<li><a href=${hash} aria-current=${current(hash)}>${text}</a></li>`;
  return html`<ul>
      ${item(hashOf('overview'), t('overview'))}
    </ul>
    <ul>
      ${me.sections.map(({ name, lists }) => {
        const state = overview?.sections.find((each) => each.name === name);
        const level = state && levelOf(state);
        return html`<li key=${name}>
          <a href=${hashOf([name])} aria-current=${current(hashOf([name])) ?? (section === name ? 'true' : undefined)}>
            ${nameOf(name)}${level && level !== 'ok' && level !== 'info' && html` <${Dot} level=${level} />`}
          </a>
          ${
            section === name &&
            html`<ul>
              ${lists.map((list) => html`<li key=${list.name}><a href=${hashOf([name, list.name])} aria-current=${route.address[1] === list.name ? 'page' : undefined}>${nameOf(list.name)}</a></li>`)}
            </ul>`
          }
        </li>`;
      })}
    </ul>
    <ul>
      ${item(hashOf('history'), t('history'))} ${item(hashOf('log'), t('log'))}
    </ul>`;
}

/**
 * @param {{ me: import('../api.js').Me, route: Route, children: any, redraw: () => void, onHelp: () => void }} props
 */
export function Frame({ me, route, children, redraw, onHelp }) {
  const [open, setOpen] = useState(false);
  const { state } = useLive();
  const mayAct = me.role === 'act' && !me.readOnly;
  const switchLanguage = () => {
    setLanguage(language() === 'zh' ? 'en' : 'zh');
    redraw();
  };
  const switchTheme = () => {
    nextTheme();
    redraw();
  };
  const skip = (/** @type {Event} */ event) => {
    event.preventDefault();
    document.querySelector('main')?.focus();
  };
  return html`<a class="skip" href="#main" onClick=${skip}>${t('skip')}</a>
    <header class="top">
      <button
        class="menu"
        aria-expanded=${open ? 'true' : 'false'}
        aria-controls="nav"
        aria-label=${t('menu')}
        onClick=${() => setOpen(!open)}
      >
        ☰
      </button>
      <a class="brand" href=${hashOf('overview')}>luanest</a>
      <${Search} id=${route.screen === 'find' ? (route.query.id ?? '') : ''} />
      <${LiveButton} />
      <div class="tools">
        <button id="language" class="quiet" lang=${language() === 'zh' ? 'en' : 'zh-CN'} onClick=${switchLanguage}>
          ${language() === 'zh' ? 'English' : '中文'}
        </button>
        <button id="theme" class="quiet" title=${t('theme')} onClick=${switchTheme}>
          ${t(`theme-${settings.theme}`)}
        </button>
        <button id="help" class="quiet" aria-label=${t('keys')} title=${t('keys')} onClick=${onHelp}>?</button>
      </div>
    </header>
    <nav
      id="nav"
      class=${open ? 'side open' : 'side'}
      aria-label=${t('sections')}
      onClick=${(/** @type {any} */ event) => event.target.closest('a') && setOpen(false)}
    >
      <${Nav} me=${me} route=${route} />
      <p class="actor muted">
        <span class="text" title=${t('actor')}>${me.actor}</span>
        <span class="chip" title=${mayAct ? t('mayActHint') : t(me.readOnly ? 'readOnlyHint' : 'readRoleHint')}
          >${mayAct ? t('mayAct') : t('readOnly')}</span
        >
      </p>
    </nav>
    <main id="main" tabindex="-1">
      ${(state === 'paused' || state === 'hidden' || state === 'broken') && html`<p class=${`banner ${state}`} role="status">${t(`live-${state}-hint`)}</p>`}
      ${children}
    </main>`;
}
