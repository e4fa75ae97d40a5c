import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LedgerTotals } from '../../src/ledger/ledger.types';
import { freePort } from '../support/free-port';
import { size } from '../support/size';
import { waitUntil } from '../support/wait';
import { adminTokenOf, api, createActivity, grab, guestToken, statusOf } from './support/api';
import { alive, type AppProcess, built, endOrphan, Program, redisPid, startAppProcess } from './support/processes';
import { PostgresServer } from './support/postgres-server';
import { makeDataFolder, removeFolder } from './support/temp-folder';

// Real processes, some of which make a database first.
jest.setTimeout(180_000);

let dataDir: string;
let apps: AppProcess[] = [];

beforeAll(async () => (dataDir = await makeDataFolder()));
afterAll(endAll);

async function endAll(): Promise<void> {
  await Promise.all(apps.map(({ program }) => program.end('SIGTERM')));
  apps = [];
  await endOrphan(dataDir);
  await removeFolder(dataDir);
}

async function start(env: Record<string, string> = {}): Promise<AppProcess> {
  // Not a port that the system hands out, to anybody, while the app is down.
  const app = await startAppProcess(dataDir, { PORT: String(await freePort()), GUESTS_PER_MINUTE: '3', ...env });
  apps.push(app);
  return app;
}

/** One app in this folder: the one that an earlier test has left, or a new one. */
async function oneApp(): Promise<AppProcess> {
  const [app, ...others] = apps.filter(({ program }) => program.running);
  await Promise.all(others.map(({ program }) => program.end('SIGTERM')));
  apps = app === undefined ? [] : [app];
  return app ?? (await start());
}

/** A guest's token that an admin asks for, which is not counted. */
async function uncountedGuest(url: string): Promise<string> {
  return (await api<{ token: string }>(`${url}/guests`, 'POST', await adminTokenOf(dataDir))).body.token;
}

const ledgerOf = async (url: string, id: string) => {
  const { activityKey = 'none@1' } = await statusOf(url, id);
  const key = encodeURIComponent(activityKey);
  return api<LedgerTotals>(`${url}/ledger/${key}`, 'GET', await adminTokenOf(dataDir));
};
const healthOf = (url: string) => api<{ ledger: boolean; ledgerUrl?: string }>(`${url}/health`, 'GET');

it('gives one user one packet for 100 parallel grabs over three processes, and has one of them pay', async () => {
  const three = await Promise.all([start(), start(), start()] as const);
  const [a, b, c] = three;
  const urls = three.map(({ url }) => url);
  await createActivity(a.url, await adminTokenOf(dataDir), 'one', 50, '100.00');
  // A token of one process is good for all: they agreed on one secret while they booted together.
  const token = await uncountedGuest(b.url);
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => grab(urls[index % 3] as string, 'one', token)),
  );
  expect(answers.filter(({ status }) => status === 'won')).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 'already-won')).toHaveLength(99);
  expect(new Set(answers.map((answer) => 'packet' in answer && JSON.stringify(answer.packet))).size).toBe(1);
  expect(await statusOf(c.url, 'one')).toMatchObject({ grantedPackets: 1, remainingPackets: 49 });

  const health = await Promise.all(urls.map(healthOf));
  const owners = three.filter((_app, index) => health[index]?.body.ledger);
  expect(owners).toHaveLength(1);
  const owner = owners[0] as AppProcess;
  const others = three.filter((app) => app !== owner);
  await waitUntil('it is paid', async () => (await ledgerOf(owner.url, 'one')).body.rows === 1);
  expect(await ledgerOf((others[0] as AppProcess).url, 'one')).toMatchObject({
    status: 503,
    body: { message: 'Another process owns the ledger. This one serves without it.', ownerUrl: owner.url },
  });

  // The owner dies: another one takes the ledger over and pays.
  await owner.program.end('SIGKILL');
  apps = others;
  const heir = await waitUntil('another process owns the ledger', async () => {
    const now = await Promise.all(others.map(async (app) => (await healthOf(app.url)).body.ledger));
    return others[now.indexOf(true)];
  });
  await grab(heir.url, 'one', await uncountedGuest(heir.url));
  await waitUntil('the second grant is paid', async () => (await ledgerOf(heir.url, 'one')).body.rows === 2);
  // The next tests go on with the one that has the ledger.
  await Promise.all(others.filter((app) => app !== heir).map(({ program }) => program.end('SIGTERM')));
});

it('loses nothing over a restart, finds the server of its killed predecessor, and takes it down in the end', async () => {
  const first = await oneApp();
  const admin = await adminTokenOf(dataDir);
  await createActivity(first.url, admin, 'kept', 5, '5.00');
  const token = await uncountedGuest(first.url);
  const won = await grab(first.url, 'kept', token);
  expect(won).toMatchObject({ status: 'won' });

  const server = (await redisPid(dataDir)) as number;
  await first.program.end('SIGKILL');
  apps = [];
  expect(alive(server)).toBe(true);
  const second = await start();
  expect(await redisPid(dataDir)).toBe(server);
  expect(await grab(second.url, 'kept', token)).toMatchObject({
    status: 'already-won',
    packet: 'packet' in won && won.packet,
  });

  expect(await second.program.end('SIGTERM')).toBe(0);
  apps = [];
  expect(alive(server)).toBe(false);
  const third = await oneApp();
  expect(await grab(third.url, 'kept', token)).toMatchObject({
    status: 'already-won',
    packet: 'packet' in won && won.packet,
  });
  await waitUntil('it is paid', async () => (await ledgerOf(third.url, 'kept')).body.rows === 1);
});

it('serves again after its Redis was killed', async () => {
  const { url } = await oneApp();
  await createActivity(url, await adminTokenOf(dataDir), 'back', 5, '5.00');
  const token = await uncountedGuest(url);
  const won = await grab(url, 'back', token);
  const server = (await redisPid(dataDir)) as number;
  process.kill(server, 'SIGKILL');
  const again = await waitUntil('a grab is answered', async () => {
    const answer = await grab(url, 'back', token).catch(() => undefined);
    return answer?.status === undefined ? undefined : answer;
  });
  expect(again).toMatchObject({ status: 'already-won', packet: 'packet' in won && won.packet });
  expect(await redisPid(dataDir)).not.toBe(server);
});

it('has every process pay into a PostgreSQL, through which they agree', async () => {
  const shared = { dataDir, apps };
  dataDir = await makeDataFolder();
  apps = [];
  const postgres = await PostgresServer.start();
  try {
    const [a, b] = await Promise.all([
      start({ DATABASE_URL: postgres.url, GUESTS_PER_MINUTE: '100' }),
      start({ DATABASE_URL: postgres.url, GUESTS_PER_MINUTE: '100' }),
    ] as const);
    const health = await Promise.all([healthOf(a.url), healthOf(b.url)]);
    expect(health.map(({ body }) => body.ledger)).toEqual([true, true]);
    await createActivity(a.url, await adminTokenOf(dataDir), 'shared', 150, '150.00');
    const tokens = await Promise.all(Array.from({ length: 100 }, () => guestToken(a.url)));
    await Promise.all(tokens.map((token, index) => grab(index % 2 === 0 ? a.url : b.url, 'shared', token)));
    await waitUntil('all is paid', async () => (await ledgerOf(b.url, 'shared')).body.rows === 100);
    const { grantedCents } = await statusOf(a.url, 'shared');
    const booked = { rows: 100, users: 100, cents: grantedCents, conflicts: 0 };
    expect((await ledgerOf(a.url, 'shared')).body).toMatchObject(booked);
    await Promise.all(apps.map(({ program }) => program.end('SIGTERM')));
  } finally {
    await postgres.stop();
    await endAll();
    ({ dataDir, apps } = shared);
  }
});

it('keeps guests out of what admins do, and strangers out of the rain', async () => {
  const { url } = await oneApp();
  const admin = await adminTokenOf(dataDir);
  const guest = await guestToken(url);
  for (const token of [undefined, guest, `${admin}x`]) {
    expect((await api(`${url}/ledger/x`, 'GET', token)).status).toBe(401);
    expect((await api(`${url}/red-packets/x/records`, 'GET', token)).status).toBe(401);
    expect(
      (await api(`${url}/red-packets`, 'POST', token, { activityId: 'x', packets: 1, total: '1.00' })).status,
    ).toBe(401);
  }
  for (const token of [undefined, admin, `${guest}x`]) {
    expect((await api(`${url}/red-packets/x/grab`, 'POST', token)).status).toBe(401);
  }
  // One address makes so many guests and no more; a crowd of the operator's is not counted.
  const guests = await Promise.all(Array.from({ length: 5 }, () => api(`${url}/guests`, 'POST')));
  expect(guests.map(({ status }) => status).sort()).toEqual([201, 201, 429, 429, 429]);
  expect((await api(`${url}/guests`, 'POST', admin)).status).toBe(201);
  expect((await api(`${url}/guests`, 'POST', guest)).status).toBe(429);
  expect((await ledgerOf(url, 'x')).body).toMatchObject({ rows: 0, users: 0, cents: 0, conflicts: 0 });
});

it('plays a rain whose every cent adds up although the app is killed in the middle', async () => {
  const { url, program } = await oneApp();
  const users = size(700, 4_000);
  const packets = size(490, 700);
  const args = ['--users', String(users), '--packets', String(packets), '--total', '2000.00', '--url', url, '--json'];
  const rain = Program.node([built('simulation/rain/main.js'), ...args], { DATA_DIR: dataDir });
  await waitUntil('a quarter of the taps fell', () => rain.stderr.includes('Rain           25 %'), 240_000);
  await program.end('SIGKILL');
  apps = [];
  await start({ PORT: new URL(url).port });
  expect([await rain.status(), rain.stderr]).toEqual([0, rain.stderr]);
  const lines = rain.stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(1);
  const audit = JSON.parse(lines[0] as string) as Record<string, number>;
  expect(audit).toMatchObject({
    ok: true,
    problems: [],
    grants: packets,
    winners: packets,
    paidUsers: packets,
    taps: 3 * users,
  });
  expect(audit.paidCents).toBe(200_000);
  expect(audit.retries).toBeGreaterThan(0);
});

it('plays the demo to its end', async () => {
  await endAll();
  dataDir = await makeDataFolder();
  const demo = Program.node([built('demo.js'), '--exit', '--json'], { DATA_DIR: dataDir, PORT: 'ignored' });
  expect([await demo.status(), demo.stderr]).toEqual([0, demo.stderr]);
  expect(JSON.parse(demo.stdout)).toMatchObject({
    ok: true,
    users: 2_000,
    grants: 500,
    winners: 500,
    paidCents: 100_000,
    leftCents: 0,
  });
  expect(await redisPid(dataDir)).toBeUndefined();
});

it('says in one line what is wrong with its configuration or its arguments', async () => {
  await endAll();
  dataDir = await makeDataFolder();
  const app = Program.node([built('main.js')], { DATA_DIR: dataDir, PORT: '99999' });
  expect(await app.status()).toBe(1);
  expect(app.stderr).toBe('PORT is "99999". Expected an integer from 0 to 65535 in decimal digits.\n');
  await expect(readFile(join(dataDir, 'guest-secret'))).rejects.toThrow('ENOENT');
  const rain = Program.node([built('simulation/rain/main.js'), '--users', 'all'], { DATA_DIR: dataDir });
  expect(await rain.status()).toBe(2);
  expect(rain.stderr).toMatch(/^--users is "all"\. Expected an integer from 1 to 1000000 in decimal digits\.\nUsage: /);
});
