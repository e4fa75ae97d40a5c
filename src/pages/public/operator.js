import { money } from './words.js';

const at = (id) => document.getElementById(id);
let token = sessionStorage.getItem('admin-token');
let watching;

function complain(text) {
  at('problem').textContent = text;
}

async function ask(method, path, body) {
  const headers = { authorization: `Bearer ${token}` };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const response = await fetch(path, { method, headers, body: JSON.stringify(body) });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.message ?? answer.detail ?? `${path} answered ${response.status}`);
  return answer;
}

/** Server-sent events by fetch, since an EventSource cannot carry the token. */
async function follow(activityId, signal) {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`/rains/${encodeURIComponent(activityId)}/live`, { headers, signal });
  if (response.status === 401) return signOut('The token is not the admin token.');
  if (!response.ok) throw new Error(`the live view answered ${response.status}`);
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const events = text.split('\n\n');
    text = events.pop();
    for (const event of events) {
      const data = event
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .map((line) => line.slice(6))
        .join('\n');
      if (data !== '') show(JSON.parse(data));
    }
  }
}

/** Watches until another rain is watched; a process that dies is left for whoever answers next. */
async function watch(activityId) {
  watching?.abort();
  const mine = (watching = new AbortController());
  while (!mine.signal.aborted && token !== null) {
    try {
      await follow(activityId, mine.signal);
      complain('');
    } catch (error) {
      if (!mine.signal.aborted) complain(`The live view broke off (${error.message}) and is opened again.`);
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

const cells = (values) => {
  const row = document.createElement('tr');
  for (const value of values) row.insertCell().textContent = value;
  return row;
};

function show({ status, ledger, grantsPerSecond, payoutsBehind, faults, nodes, jobs }) {
  complain('');
  const figures = {
    rain: status.activityId,
    state: status.state,
    rate: grantsPerSecond,
    winners: status.grantedPackets,
    pool: `${status.remainingPackets} of ${status.packets}`,
    money: money(status.remainingCents),
    paid: ledger === undefined ? 'no ledger' : `${money(ledger.cents)} to ${ledger.users}`,
    behind: payoutsBehind ?? 'no ledger',
    latency: `${Math.max(0, ...nodes.map((node) => node.p50Ms)).toFixed(1)} / ${Math.max(0, ...nodes.map((node) => node.p99Ms)).toFixed(1)} ms`,
    refused: nodes.reduce((sum, node) => sum + node.refused, 0),
  };
  for (const [name, value] of Object.entries(figures)) at(`f-${name}`).textContent = value;
  const audit = at('audit');
  audit.dataset.state = faults.length === 0 ? 'green' : 'red';
  audit.textContent = faults.length === 0 ? 'Every cent adds up.' : faults.join('; ');
  at('nodes').replaceChildren(
    ...nodes.map((node) =>
      cells([
        node.node,
        node.grabs,
        node.won,
        `${node.p99Ms.toFixed(1)} ms`,
        node.refused,
        node.ledger ? 'has it' : '',
      ]),
    ),
  );
  at('jobs').replaceChildren(
    ...jobs.map((job) => cells([new Date(job.slot).toISOString().slice(11, 23), job.node, job.outcome, job.fence])),
  );
}

function signOut(why) {
  token = null;
  sessionStorage.removeItem('admin-token');
  watching?.abort();
  at('desk').hidden = true;
  at('sign-in').hidden = false;
  complain(why);
}

async function signIn() {
  at('sign-in').hidden = true;
  at('desk').hidden = false;
  at('activity').value = `rain-${Date.now().toString(36)}`;
  const { activityId } = await ask('GET', '/rains/latest');
  if (activityId !== null) void watch(activityId);
}

/** Runs what a form asks for, and says what went wrong. */
function onSubmit(form, work) {
  at(form).addEventListener('submit', (event) => {
    event.preventDefault();
    complain('');
    work().catch((error) => complain(error.message));
  });
}

onSubmit('sign-in', async () => {
  token = at('token').value;
  await ask('GET', '/operator/session');
  sessionStorage.setItem('admin-token', token);
  await signIn();
});
onSubmit('create', async () => {
  const activityId = at('activity').value;
  await ask('POST', '/red-packets', { activityId, total: at('total').value, packets: Number(at('packets').value) });
  at('activity').value = `rain-${Date.now().toString(36)}`;
  void watch(activityId);
});
onSubmit('crowd', () =>
  ask('POST', `/rains/${encodeURIComponent(at('f-rain').textContent)}/crowd`, {
    users: Number(at('users').value),
    taps: Number(at('taps').value),
  }),
);

if (token !== null) void signIn();
