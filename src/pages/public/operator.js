import { at, element } from './dom.js';
import { isSignedIn, keepToken, read, useToken } from './api.js';
import { showControls, wireControls } from './controls.js';
import { watchRain } from './follow.js';
import { onSubmit, wireCreate, wireCrowd } from './forms.js';
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

function complain(text) {
  at('problem').textContent = text;
}

function show(view) {
  if (view.status.activityId !== watched) return;
  if (at('problem').textContent.startsWith('The live view')) complain('');
  at('watched').hidden = false;
  showControls(view);
  showAudit(view);
  for (const each of panels) each.show(view);
}

/** Watches until another rain is watched. */
function watch(activityId) {
  watching?.abort();
  watching = new AbortController();
  watched = activityId;
  void watchRain(activityId, watching.signal, {
    show,
    complain,
    refused: () => signOut('The token is not the admin token.'),
  });
  void listRains().catch(() => undefined);
}

/** The rains to choose from; the one that is watched stays chosen. */
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
  // A header cannot carry other characters, and no admin token has them.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Error('The token is not the admin token.');
  useToken(token);
  await signIn();
});
wireCreate(complain, watch);
wireCrowd(complain, () => watched);
wireControls(() => watched, complain);
at('rains').addEventListener('change', () => watch(at('rains').value));
at('sign-out').addEventListener('click', () => signOut(''));
setInterval(() => {
  if (!at('desk').hidden && !document.hidden) void listRains().catch(() => undefined);
}, LIST_EVERY_MS);

if (isSignedIn()) signIn().catch((error) => signOut(error.message));
