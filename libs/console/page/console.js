// The console of luanest, as a browser runs it.
import { render } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { api } from './api.js';
import { html } from './dom.js';
import { page, sectionOf } from './hooks.js';
import { KEYS, listenToKeys } from './keyboard.js';
import { live } from './live.js';
import { ActionDialog, Modal } from './parts/dialog.js';
import { Frame } from './parts/frame.js';
import { Outcome } from './parts/table.js';
import { hashOf, readRoute } from './route.js';
import { FindScreen } from './screens/find.js';
import { HistoryScreen } from './screens/history.js';
import { LogScreen } from './screens/log.js';
import { OverviewScreen } from './screens/overview.js';
import { PlaceScreen } from './screens/place.js';
import { startSettings, toggleTimes } from './settings.js';
import { partsOf, startLanguage, t } from './words.js';

/** @import { Me } from './api.js' */
/** @import { Wanted } from './hooks.js' */
/** @import { Route } from './route.js' */

/** @param {Route} route */
function titleOf({ screen, address, query }) {
  if (screen === 'find') return query.id ?? t('find');
  return screen === 'at' ? partsOf(address).at(-1) : t(screen);
}

/** @param {Route} route */
function screenOf(route) {
  const { screen, address } = route;
  if (screen === 'find') return html`<${FindScreen} route=${route} />`;
  if (screen === 'log') return html`<${LogScreen} route=${route} />`;
  if (screen === 'history') return html`<${HistoryScreen} route=${route} />`;
  if (address.length > 1) return html`<${PlaceScreen} route=${route} />`;
  return html`<${OverviewScreen} only=${address[0]} />`;
}

/** @param {{ onClose: () => void }} props */
const Help = ({ onClose }) =>
  html`<${Modal} title=${t('keys')} onClose=${onClose}>
    <dl class="facts">
      ${KEYS.map(
        ([key, word]) =>
          html`<div>
            <dt><kbd>${key}</kbd></dt>
            <dd>${t(word)}</dd>
          </div>`,
      )}
    </dl>
    <div class="row end"><button onClick=${onClose}>${t('close')}</button></div>
  <//>`;

function App() {
  const [me, setMe] = useState(/** @type {Me | undefined} */ (undefined));
  const [error, setError] = useState(/** @type {Error | undefined} */ (undefined));
  const [route, setRoute] = useState(() => readRoute(location.hash));
  const [wanted, setWanted] = useState(/** @type {Wanted | undefined} */ (undefined));
  const [help, setHelp] = useState(false);
  const [, setTurn] = useState(0);
  const moved = useRef(false);
  const load = () => {
    setError(undefined);
    api.me().then((value) => (setMe(value), live.start()), setError);
  };

  useEffect(() => {
    load();
    page.redraw = live.onUpdate = () => setTurn((turn) => turn + 1);
    // Times since grow.
    setInterval(() => document.visibilityState === 'visible' && page.redraw(), 1_000);
    addEventListener('hashchange', () => {
      moved.current = true;
      setWanted(undefined);
      setRoute(readRoute(location.hash));
    });
    listenToKeys({ help: () => setHelp(true), times: () => (toggleTimes(), page.redraw()) });
  }, []);

  const place = hashOf(route.screen === 'at' ? route.address : route.screen);
  useEffect(() => {
    document.title = `${titleOf(route)} · luanest`;
  });
  // At once: later, it would take the focus from somebody who already types into the search.
  useLayoutEffect(() => {
    // A screen reader goes on at the heading of what was opened. A filter or a page of the same list leaves the focus.
    if (!moved.current) return;
    scrollTo(0, 0);
    /** @type {HTMLElement | null} */ (document.querySelector('main'))?.focus({ preventScroll: true });
  }, [place]);

  if (me === undefined)
    return html`<main class="alone"><${Outcome} loaded=${{ error, atMs: 0, reload: load }} /></main>`;
  page.me = me;
  page.ask =
    me.role === 'read' || me.readOnly
      ? undefined
      : (section, name, target) => {
          const action = sectionOf(section)?.actions.find((each) => each.name === name);
          setWanted(action && { section, action, target });
        };
  return html`<${Frame} route=${route} onHelp=${() => setHelp(true)}>${screenOf(route)}<//>
    ${wanted && html`<${ActionDialog} key=${JSON.stringify(wanted)} wanted=${wanted} onClose=${() => setWanted(undefined)} />`}
    ${help && html`<${Help} onClose=${() => setHelp(false)} />`}`;
}

startSettings();
startLanguage();
render(html`<${App} />`, /** @type {Element} */ (document.getElementById('app')));
