// The console of luanest, as a browser runs it.
import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from './api.js';
import { html } from './dom.js';
import { KEYS, listenToKeys } from './keyboard.js';
import { live } from './live.js';
import { ActionDialog, Modal } from './parts/dialog.js';
import { Frame } from './parts/frame.js';
import { Failure, Skeleton } from './parts/table.js';
import { hashOf, readRoute } from './route.js';
import { FindScreen } from './screens/find.js';
import { HistoryScreen } from './screens/history.js';
import { LogScreen } from './screens/log.js';
import { OverviewScreen } from './screens/overview.js';
import { PlaceScreen, SectionScreen } from './screens/places.js';
import { startSettings, toggleTimes } from './settings.js';
import { nameOf, startLanguage, t } from './words.js';

/**
 * @typedef {import('./api.js').Me} Me
 * @typedef {import('./parts/dialog.js').Wanted} Wanted
 */

/** @param {import('./route.js').Route} route */
function titleOf({ screen, address, query }) {
  if (screen === 'find') return query.id ?? t('find');
  if (screen !== 'at') return t(screen);
  const last = address.at(-1) ?? '';
  return address.length <= 2 ? nameOf(last) : last;
}

function App() {
  const [me, setMe] = useState(/** @type {Me | undefined} */ (undefined));
  const [error, setError] = useState(/** @type {Error | undefined} */ (undefined));
  const [route, setRoute] = useState(() => readRoute(location.hash));
  const [wanted, setWanted] = useState(/** @type {Wanted | undefined} */ (undefined));
  const [help, setHelp] = useState(false);
  const [, setTurn] = useState(0);
  const moved = useRef(false);
  const redraw = () => setTurn((turn) => turn + 1);
  const load = () => {
    setError(undefined);
    api.me().then((value) => (setMe(value), live.start()), setError);
  };

  useEffect(() => {
    load();
    addEventListener('hashchange', () => {
      moved.current = true;
      setWanted(undefined);
      setRoute(readRoute(location.hash));
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
    listenToKeys({ help: () => setHelp(true), times: () => (toggleTimes(), redraw()) });
  }, []);

  const place = hashOf(route.screen === 'at' ? route.address : route.screen);
  useEffect(() => {
    document.title = `${titleOf(route)} · luanest`;
  });
  useEffect(() => {
    // A screen reader goes on at the heading of what was opened. A filter or a page of the same list leaves the focus.
    if (!moved.current) return;
    scrollTo(0, 0);
    /** @type {HTMLElement | null} */ (document.querySelector('main'))?.focus({ preventScroll: true });
  }, [place]);

  if (me === undefined) {
    return html`<main class="alone">
      ${error ? html`<${Failure} error=${error} reload=${load} />` : html`<${Skeleton} />`}
    </main>`;
  }
  /** @type {import('./screens/places.js').Ask} */
  const open = (section, name, target) => {
    const action = me.sections.find((each) => each.name === section)?.actions.find((each) => each.name === name);
    if (action !== undefined) setWanted({ section, action, target });
  };
  const ask = me.role === 'act' && !me.readOnly ? open : undefined;
  const act =
    ask &&
    ((/** @type {string} */ action, /** @type {readonly string[]} */ address) =>
      ask(address[0] ?? '', action, { address }));
  const reload = () => /** @type {HTMLElement | null} */ (document.querySelector('[data-reload]'))?.click();
  const screen = () => {
    if (route.screen === 'overview') return html`<${OverviewScreen} act=${act} />`;
    if (route.screen === 'find') return html`<${FindScreen} route=${route} />`;
    if (route.screen === 'log') return html`<${LogScreen} route=${route} />`;
    if (route.screen === 'history') return html`<${HistoryScreen} route=${route} />`;
    if (route.address.length === 1) return html`<${SectionScreen} me=${me} route=${route} ask=${ask} />`;
    return html`<${PlaceScreen} me=${me} route=${route} ask=${ask} />`;
  };
  return html`<${Frame} me=${me} route=${route} redraw=${redraw} onHelp=${() => setHelp(true)}>${screen()}<//>
    ${wanted && html`<${ActionDialog} key=${JSON.stringify(wanted.target) + wanted.action.name} wanted=${wanted} onClose=${() => setWanted(undefined)} onDone=${reload} />`}
    ${
      help &&
      html`<${Modal} title=${t('keys')} onClose=${() => setHelp(false)}>
        <dl class="facts keys">
          ${KEYS.map(
            ([key, word]) =>
              html`<div>
                <dt><kbd>${key}</kbd></dt>
                <dd>${t(word)}</dd>
              </div>`,
          )}
        </dl>
        <div class="buttons"><button onClick=${() => setHelp(false)}>${t('close')}</button></div>
      <//>`
    }`;
}

startSettings();
startLanguage();
render(html`<${App} />`, /** @type {Element} */ (document.getElementById('app')));
