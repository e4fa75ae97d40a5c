import { size } from '../support/size';
import { waitUntil } from '../support/wait';
import { adminTokenOf, api, statusOf } from './support/api';
import { viewOf } from './support/live';
import { alive, built, Program } from './support/processes';
import { makeDataFolder, removeFolder } from './support/temp-folder';

jest.setTimeout(180_000);

const USERS = size(400, 3_000);
const PACKETS = size(320, 800);

let dataDir: string;
let program: Program | undefined;

beforeEach(async () => (dataDir = await makeDataFolder()));
afterEach(async () => {
  await program?.end('SIGTERM');
  await removeFolder(dataDir);
});

const health = async (url: string) => ({
  url,
  ...(await api<{ pid: number; ledger: boolean }>(`${url}/health`, 'GET')).body,
});

it('runs three processes on a Cluster, starts a killed one again, and loses no cent', async () => {
  const started = (program = Program.node([built('cluster.js')], { PORT: '0', DATA_DIR: dataDir }));
  const addresses = (): string[] => [...started.stdout.matchAll(/Listening on (http:\S+)/g)].map(([, url = '']) => url);
  await waitUntil('three processes serve', () => addresses().length === 3, 90_000);
  const all = await Promise.all(addresses().map(health));
  const admin = await adminTokenOf(dataDir);
  const [first] = all.filter(({ ledger }) => !ledger).map(({ url }) => url) as [string, string];
  const before = await viewOf(first, admin, await anyRain(first, admin), ({ nodes }) => {
    return nodes.length === 3 && nodes.every(({ url }) => url !== undefined);
  });
  expect(before.nodes.map(({ url }) => url).sort()).toEqual(addresses().sort());

  // The one with the ledger is killed, so that another has to take that over, too; the crowd taps at all three.
  const { pid: victim } = all.find(({ ledger }) => ledger) as (typeof all)[number];
  const urls = addresses().join(',');
  const options = [
    '--users',
    String(USERS),
    '--packets',
    String(PACKETS),
    '--total',
    '4321.09',
    '--activity',
    'three',
    '--json',
  ];
  const rain = Program.node([built('simulation/rain/main.js'), '--url', urls, ...options], { DATA_DIR: dataDir });
  await waitUntil('the crowd grabs', async () => (await statusOf(first, 'three')).grantedPackets > 50, 60_000);
  process.kill(victim, 'SIGKILL');
  await waitUntil('the killed process is gone', () => !alive(victim));
  const ended = await rain.status();
  if (ended !== 0) throw new Error(`${rain.stdout}\n${rain.stderr}\n${started.stderr}\n${started.stdout}`);
  const audit = JSON.parse(rain.stdout) as { retries: number };
  expect(audit).toMatchObject({ ok: true, winners: PACKETS, grantedCents: 432_109, paidCents: 432_109 });
  // It was hit by the death: who tapped at the dead process had to tap again, elsewhere.
  expect(audit.retries).toBeGreaterThan(0);

  // Three processes again, each knows all, and the audit job ran on one of them for each slot.
  await waitUntil('a process takes its place', () => addresses().length === 4, 60_000);
  const isVictim = (node: string): boolean => node.endsWith(`:${victim}`);
  const whole = await viewOf(
    first,
    admin,
    'three',
    ({ nodes, jobs, counted }) =>
      nodes.filter(({ node }) => !isVictim(node)).length === 3 &&
      jobs.every(({ node }) => !isVictim(node)) &&
      counted?.quiet === true &&
      counted.granted.packets === PACKETS &&
      counted.paid?.packets === PACKETS,
    60_000,
  );
  expect(whole.faults).toEqual([]);
  expect(whole.counted).toMatchObject({ ok: true, paid: { packets: PACKETS, cents: 432_109 } });
  expect(whole).toMatchObject({ payoutsBehind: 0, status: { remainingPackets: 0 }, ledger: { cents: 432_109 } });
  const slots = whole.jobs.filter(({ status }) => status === 'ran').map(({ slot }) => slot);
  expect(new Set(slots).size).toBe(slots.length);
  const living = whole.nodes.map(({ node }) => node);
  for (const { node } of whole.jobs) expect(living).toContain(node);

  expect(await started.end('SIGTERM')).toBe(0);
});

/** A view needs a rain; a small one over four slots. */
async function anyRain(url: string, admin: string): Promise<string> {
  const body = { activityId: 'any', packets: 8, total: '8.00', buckets: 4 };
  expect((await api(`${url}/red-packets`, 'POST', admin, body)).status).toBe(201);
  return 'any';
}
