import { at, element, write } from './dom.js';
import { isSignedIn, keepToken, read, useToken } from './api.js';
import { showControls, wireControls } from './controls.js';
import { watchRain } from './follow.js';
import { onSubmit, sayCrowd, wireCreate, wireCrowd } from './forms.js';
import { choose, language, otherThan, speakPage } from './language.js';
import { SaidError, sayingOf, useWords, w } from './operator-words.js';
import { booksPanel, showAudit } from './panel-books.js';
import { jobsPanel } from './panel-jobs.js';
import { limitsPanel } from './panel-limits.js';
import { lockPanel } from './panel-lock.js';
import { nodesPanel } from './panel-nodes.js';
import { oncePanel } from './panel-once.js';
import { payoutsPanel } from './panel-payouts.js';
import { pointsPanel } from './panel-points.js';
import { tasksPanel } from './panel-tasks.js';

const LIST_EVERY_MS = 3_000;

const panels = [
  booksPanel,
  nodesPanel,
  lockPanel,
  jobsPanel,
  tasksPanel,
  payoutsPanel,
  limitsPanel,
  oncePanel,
  pointsPanel,
].map((make) => make());
at('panels').append(...panels.map(({ node }) => node));

let watching;
let watched;

let lang = language();
let problem = () => '';
let problemOf;
let lastView;

/**
 * Shows a problem in the chosen language; without arguments, hides the problem. `say` receives the texts of a language. `source` is
 * `live` for problems of the live view, which the next view hides.
 */
function complain(say = () => '', source = undefined) {
  problem = say;
  problemOf = source;
  write(at('problem'), say(w));
}

function speak() {
  speakPage(lang, w);
  write(at('problem'), problem(w));
  sayCrowd();
  if (lastView !== undefined) show(lastView);
}

function show(view) {
  if (view.status.activityId !== watched) return;
  lastView = view;
  if (problemOf === 'live') complain();
  at('watched').hidden = false;
  showControls(view);
  showAudit(view);
  for (const each of panels) each.show(view);
}

/** Shows a rain until another rain is chosen. */
function watch(activityId) {
  watching?.abort();
  watching = new AbortController();
  watched = activityId;
  void watchRain(activityId, watching.signal, {
    show,
    complain,
    refused: () => signOut((words) => words.notAdmin),
  });
  void listRains().catch(() => undefined);
}

/** Fills the list of rains. The watched rain stays selected. Without a watched rain, watches the newest. */
async function listRains() {
  const { rains } = await read('/rains');
  const list = at('rains');
  const known = [...list.options].map(({ value }) => value);
  const names = rains.map(({ activityId }) => activityId);
  if (known.join('\n') !== names.join('\n')) {
    list.replaceChildren(...names.map((name) => element('option', { value: name }, name)));
  }
  if (watched === undefined && names.length > 0) watch(names[0]);
  if (list.value !== watched && names.includes(watched)) list.value = watched;
}

function signOut(why) {
  useToken(null);
  watching?.abort();
  watched = undefined;
  lastView = undefined;
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
wireCrowd(complain, () => watched);
wireControls(() => watched, complain);
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

if (isSignedIn()) signIn().catch((error) => signOut(sayingOf(error)));
