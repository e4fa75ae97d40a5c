import type { CountRecord } from '../../src/monitoring/audit/count-records';
import type { LiveView } from '../../src/monitoring/live/live.service';
import { waitUntil } from '../support/wait';
import { adminTokenOf, api, createActivity, grab, guestToken, statusOf } from './support/api';
import { viewOf } from './support/live';
import { type AppProcess, endOrphan, startAppProcess } from './support/processes';
import { PostgresServer } from './support/postgres-server';
import { makeDataFolder, removeFolder } from './support/temp-folder';

// Two processes on one Redis: what one of them did is seen at the other.
jest.setTimeout(120_000);

let ledger: PostgresServer;
let dataDir: string;
let apps: readonly [AppProcess, AppProcess];
let admin: string;

beforeAll(async () => {
  ledger = await PostgresServer.start();
  dataDir = await makeDataFolder();
  const env = { DATABASE_URL: ledger.url };
  apps = [await startAppProcess(dataDir, env), await startAppProcess(dataDir, env)];
  admin = await adminTokenOf(dataDir);
  await createActivity(apps[0].url, admin, 'works', 100, '100.00');
});
afterAll(async () => {
  await Promise.all(apps.map(({ program }) => program.end('SIGTERM')));
  await endOrphan(dataDir);
  await removeFolder(dataDir);
  await ledger.stop();
});

const seen = (wanted: (view: LiveView) => boolean) => viewOf(apps[1].url, admin, 'works', wanted);
const sum = (view: LiveView, pick: (works: LiveView['nodes'][number]['works']) => number | undefined): number =>
  view.nodes.reduce((total, { works }) => total + (pick(works) ?? 0), 0);

it('knows all processes and which of them ran the audit', async () => {
  const ran = ({ jobs }: LiveView) => jobs.filter(({ status }) => status === 'ran');
  const isTold = ({ nodes }: LiveView) => nodes.length === 2 && nodes.every(({ url }) => url !== undefined);
  const view = await seen((each) => isTold(each) && ran(each).length > 1);
  const nodes = view.nodes.map(({ node }) => node);
  expect(nodes.map((node) => Number(node.split(':')[1])).sort()).toEqual(apps.map(({ program }) => program.pid).sort());
  expect(view.nodes.map(({ url }) => url).sort()).toEqual(apps.map(({ url }) => url).sort());
  for (const { node } of view.jobs) expect(nodes).toContain(node);
  const slots = ran(view).map(({ slot }) => slot);
  expect(new Set(slots).size).toBe(slots.length);
  expect(view.faults).toEqual([]);
  expect(Math.abs(view.redisNowMs - Date.now())).toBeLessThan(5_000);
});

it('refuses a guest who taps without pause, counts the refusals, and serves other guests', async () => {
  const token = await guestToken(apps[0].url);
  const answers = await Promise.all(
    Array.from({ length: 400 }, () => fetch(`${apps[0].url}/red-packets/works/grab`, grabbing(token))),
  );
  const refused = answers.filter(({ status }) => status === 429);
  // A window may end meanwhile, so that some more pass.
  expect(refused.length).toBeGreaterThan(0);
  expect(answers.length - refused.length).toBeGreaterThanOrEqual(150);
  expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await grab(apps[0].url, 'works', await guestToken(apps[0].url))).toMatchObject({ status: 'won' });
  const view = await seen((each) => sum(each, ({ limits }) => limits.taps) >= refused.length);
  expect(sum(view, ({ limits }) => limits.taps)).toBe(refused.length);
  expect((await statusOf(apps[0].url, 'works')).grantedPackets).toBe(2);
});

it('answers a repeated request as the first, from the other process, and counts that', async () => {
  const headers = {
    authorization: `Bearer ${admin}`,
    'content-type': 'application/json',
    'idempotency-key': 'the-same-request',
  };
  const body = JSON.stringify({ activityId: 'twice', packets: 5, total: '5.00' });
  const create = async ({ url }: AppProcess) => {
    const response = await fetch(`${url}/red-packets`, { method: 'POST', headers, body });
    return {
      status: response.status,
      replayed: response.headers.get('idempotency-replayed'),
      body: await response.json(),
    };
  };
  const first = await create(apps[0]);
  const second = await create(apps[1]);
  expect(first).toMatchObject({ status: 201, replayed: null, body: { created: true } });
  // By itself it would say that it had found the activity.
  expect(second).toEqual({ ...first, replayed: 'true' });
  const view = await seen((each) => sum(each, ({ once }) => once.done) > 0);
  expect(sum(view, ({ once }) => once.done)).toBe(1);
});

it('starts a crowd later, and shows which process ran the task', async () => {
  const crowd = { users: 30, taps: 1, delayMs: 3_000 };
  const answer = await api<{ started: boolean; runAtMs: number }>(
    `${apps[0].url}/rains/works/crowd`,
    'POST',
    admin,
    crowd,
  );
  expect(answer).toMatchObject({ status: 202, body: { started: false } });
  const waiting = await seen(({ tasks }) => tasks.waiting > 0);
  expect(waiting.redisNowMs).toBeLessThan(answer.body.runAtMs);
  const isCrowd = ({ name }: { name: string }): boolean => name === 'rain.crowd';
  const view = await seen(({ nodes }) => nodes.some(({ works }) => works.lastTasks.some(isCrowd)));
  expect(view.tasks).toMatchObject({ waiting: waiting.tasks.waiting - 1, overdue: 0, dead: 0 });
  const notes = view.nodes.flatMap(({ works }) => works.lastTasks);
  expect(notes.filter(isCrowd)).toMatchObject([{ status: 'done' }]);
  await seen(({ status }) => status.grantedPackets === 32);
});

it('closes a rain at its end by a task, on one process, and shows which', async () => {
  const { redisNowMs } = (await api<{ redisNowMs: number }>(`${apps[0].url}/rains`, 'GET', admin)).body;
  const rain = { activityId: 'ends', packets: 9, total: '9.00', buckets: 3, endsAtMs: redisNowMs + 3_000 };
  expect((await api(`${apps[0].url}/red-packets`, 'POST', admin, rain)).status).toBe(201);
  const won = await grab(apps[0].url, 'ends', await guestToken(apps[0].url));
  const cents = 'packet' in won ? won.packet.amountCents : 0;
  const view = await viewOf(apps[1].url, admin, 'ends', ({ status, nodes, ledger }) => {
    const told = nodes.some(({ works }) => works.lastTasks.some(({ name }) => name === 'red-packet.close'));
    return told && status.state === 'closed' && ledger?.rows === 1;
  });
  expect(view.status).toMatchObject({ refundedPackets: 8, refundedCents: 900 - cents, grantedCents: cents });
  expect(view.faults).toEqual([]);
  const notes = view.nodes.flatMap(({ works }) => works.lastTasks.filter(({ name }) => name === 'red-packet.close'));
  expect(notes).toMatchObject([{ status: 'done' }]);
});

it('gives a point for each rain that a visitor joins, three a day, and counts them', async () => {
  const token = await guestToken(apps[0].url);
  const join = async (rain: string) => (await api(`${apps[0].url}/points/${rain}`, 'POST', token)).body;
  for (const id of ['p1', 'p2', 'p3', 'p4', 'over']) await createActivity(apps[0].url, admin, id, 1, '1.00');
  expect(await join('p1')).toMatchObject({ status: 'rewarded', points: 1, remaining: 2 });
  expect(await join('p1')).toMatchObject({ status: 'duplicate', points: 1, remaining: 2 });
  expect(await join('p2')).toMatchObject({ status: 'rewarded', points: 2 });
  expect(await join('p3')).toMatchObject({ status: 'rewarded', points: 3, remaining: 0 });
  expect(await join('p4')).toMatchObject({ status: 'capped', points: 3, remaining: 0 });
  expect((await api(`${apps[1].url}/points`, 'GET', token)).body).toMatchObject({ points: 3, remaining: 0 });
  expect((await api(`${apps[0].url}/points/nowhere`, 'POST', token)).status).toBe(404);
  expect((await api(`${apps[0].url}/points/works`, 'POST')).status).toBe(401);
  // A guest who has no packet takes no part in a rain that is over.
  await api(`${apps[0].url}/red-packets/over/close`, 'POST', admin, {});
  const late = async () => (await api(`${apps[0].url}/points/over`, 'POST', token)).status;
  await waitUntil('the process has seen that it is closed', async () => (await late()) === 409);
  const view = await seen((each) => sum(each, ({ reads }) => reads.capped) > 0);
  expect(sum(view, ({ points }) => points)).toBe(3);
});

it('counts every record under one lock, on whatever process, and notes it for all', async () => {
  const counted = await Promise.all(apps.map(({ url }) => api(`${url}/rains/works/count`, 'POST', admin, {})));
  for (const { status, body } of counted) {
    expect(status).toBe(200);
    expect(body).toMatchObject({ ok: true, quiet: true, problems: [], granted: { packets: 32 } });
  }
  const [one, other] = counted.map(({ body }) => body as { fence: number; node: string }) as [
    { fence: number; node: string },
    { fence: number; node: string },
  ];
  expect(one.node).not.toBe(other.node);
  expect(one.fence).not.toBe(other.fence);
  const later = one.fence > other.fence ? one : other;
  const view = await seen((each) => each.counted !== undefined && each.counted.fence >= later.fence);
  expect(view.counted).toMatchObject({ paid: { packets: 32 }, outboxRows: 0 });
  expect(view.counting.fence).toBeGreaterThanOrEqual(later.fence);
  expect(view.payouts).toMatchObject({ behind: 0, open: 0, deadLetters: 0 });
  expect((await api(`${apps[0].url}/rains/nowhere/count`, 'POST', admin, {})).status).toBe(404);
});

it('finds no fault, however often it counts amid a crowd', async () => {
  const rain = { activityId: 'busy', packets: 600, total: '600.00', buckets: 4 };
  expect((await api(`${apps[0].url}/red-packets`, 'POST', admin, rain)).status).toBe(201);
  const crowd = { users: 800, taps: 2 };
  expect((await api(`${apps[0].url}/rains/busy/crowd`, 'POST', admin, crowd)).status).toBe(202);
  let counts = 0;
  for (let done = false; !done;) {
    const { status, body } = await api<CountRecord>(`${apps[1].url}/rains/busy/count`, 'POST', admin, {});
    // On a busy machine, the process that has the ledger may respond too late. Such a count is refused.
    if (status === 503) continue;
    counts += 1;
    expect({ status, problems: body.problems }).toEqual({ status: 200, problems: [] });
    done = body.quiet && body.paid?.packets === 600;
  }
  expect(counts).toBeGreaterThan(1);
  // A payout is still open when the ledger has it and Redis does not know that yet.
  const isPaid = ({ payoutsBehind, status }: LiveView): boolean => payoutsBehind === 0 && status.openPayouts === 0;
  const view = await viewOf(apps[1].url, admin, 'busy', isPaid);
  expect(view.faults).toEqual([]);
  expect(view.status).toMatchObject({ state: 'sold-out', grantedCents: 60_000 });
});

function grabbing(token: string): RequestInit {
  return { method: 'POST', headers: { authorization: `Bearer ${token}` } };
}
