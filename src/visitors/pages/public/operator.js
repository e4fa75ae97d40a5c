import { at, element, write } from './dom.js';
import { isSignedIn, keepToken, read, useToken } from './api.js';
import { showControls, wireControls } from './controls.js';
import { rateSince, watchRain } from './follow.js';
import { onSubmit, sayCrowd, wireCreate, wireCrowd } from './forms.js';
import { choose, language, otherThan, speakPage } from './language.js';
import { SaidError, sayingOf, useWords, w } from './operator-words.js';
import { booksPanel, showAudit, showSilence } from './panel-books.js';
import { latelyPanel } from './panel-lately.js';
import { lockPanel } from './panel-lock.js';
import { nodesPanel } from './panel-nodes.js';

const LIST_EVERY_MS = 3_000;

const panels = [booksPanel, latelyPanel, nodesPanel, lockPanel].map((make) => make());
at('panels').append(...panels.map(({ node }) => node));

/** @type {AbortController | undefined} */
let watching;
/** @type {string | undefined} */
let watched;

let lang = language();
/** @type {import('./operator-words.js').Saying} */
let problem = () => '';
/** @type {'live' | undefined} */
let problemOf;
/** @type {import('./follow.js').View | undefined} */
let lastView;
/** Time without a view, ms; undefined while views arrive. @type {number | undefined} */
let silentMs;

/**
 * Shows a problem in the chosen language; without arguments, hides the problem. `say` receives the texts of a language. `source` is
 * `live` for problems of the live view, which the next view hides.
 *
 * @param {import('./operator-words.js').Saying} say
 * @param {'live' | undefined} source
 */
function complain(say = () => '', source = undefined) {
  // What the app said to the operator's last order stays. The live view shows its silence in another place, too.
  if (source === 'live' && problemOf === undefined && problem(w) !== '') return;
  problem = say;
  problemOf = source;
  write(at('problem'), say(w));
}

function speak() {
  speakPage(lang, w);
  write(at('problem'), problem(w));
  sayCrowd();
  if (lastView !== undefined) draw(lastView);
  if (silentMs !== undefined) showSilence(silentMs);
}

/** @param {import('./follow.js').Sent} seen */
function show(seen) {
  if (seen.status.activityId !== watched) return;
  const view = { ...seen, grantsPerSecond: rateSince(lastView, seen) };
  lastView = view;
  silentMs = undefined;
  if (problemOf === 'live') complain();
  draw(view);
}

/** @param {import('./follow.js').View} view */
function draw(view) {
  at('watched').hidden = false;
  showControls(view);
  showAudit(view);
  for (const each of panels) each.show(view);
}

/** @param {number} ms */
function silent(ms) {
  silentMs = ms;
  showSilence(ms);
}

/**
 * Shows a rain until another rain is chosen.
 *
 * @param {string} activityId
 */
function watch(activityId) {
  watching?.abort();
  silentMs = undefined;
  watching = new AbortController();
  watched = activityId;
  void watchRain(activityId, watching.signal, {
    show,
    silent,
    complain,
    refused: () => signOut((words) => words.notAdmin),
  });
  void listRains().catch(() => undefined);
}

/** Fills the list of rains. The watched rain stays selected. Without a watched rain, watches the newest. */
async function listRains() {
  const { rains } = await read('/rains');
  const list = at('rains');
  const known = [...list.options].map((/** @type {HTMLOptionElement} */ { value }) => value);
  /** @type {string[]} */
  const names = rains.map((/** @type {{ activityId: string }} */ { activityId }) => activityId);
  if (known.join('\n') !== names.join('\n')) {
    list.replaceChildren(...names.map((name) => element('option', { value: name }, name)));
  }
  const [newest] = names;
  if (watched === undefined && newest !== undefined) watch(newest);
  if (watched !== undefined && list.value !== watched && names.includes(watched)) list.value = watched;
}

/** @param {import('./operator-words.js').Saying} [why] */
function signOut(why) {
  useToken(null);
  watching?.abort();
  watched = undefined;
  lastView = undefined;
  silentMs = undefined;
  at('desk').hidden = true;
  at('sign-in').hidden = false;
  complain(why);
}

async function signIn() {
  await read('/operator/session');
  keepToken();
  at('token').value = '';
  at('sign-in').hidden = true;
  at('desk').hidden = false;
  await listRains();
}

onSubmit('sign-in', complain, async () => {
  const token = at('token').value.trim();
  // Admin tokens have only these characters. fetch refuses a header with some others, such as Chinese ones.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new SaidError((words) => words.notAdmin);
  useToken(token);
  await signIn();
});
wireCreate(complain, watch);
const rainOfView = () => watched ?? '';
wireCrowd(complain, rainOfView);
wireControls(rainOfView, complain);
at('rains').addEventListener('change', () => watch(at('rains').value));
at('language').addEventListener('click', () => {
  lang = otherThan(lang);
  choose(lang);
  useWords(lang);
  speak();
});
speak();
at('sign-out').addEventListener('click', () => signOut());
setInterval(() => {
  if (!at('desk').hidden && !document.hidden) void listRains().catch(() => undefined);
}, LIST_EVERY_MS);

if (isSignedIn()) signIn().catch((/** @type {unknown} */ error) => signOut(sayingOf(error)));
