import { adminTokenOf, api } from './support/api';
import { alive, built, Program } from './support/processes';
import { makeTempFolder, removeFolder } from './support/temp-folder';
import { waitUntil } from './support/wait-until';
import type { LiveView } from '../../src/live/live.service';

jest.setTimeout(180_000);

let dataDir: string;
let program: Program | undefined;

beforeEach(async () => (dataDir = await makeTempFolder()));
afterEach(async () => {
  await program?.end('SIGTERM');
  await removeFolder(dataDir);
});

/** The first view that a process sends of a rain and that has what is asked for. */
async function view(url: string, activityId: string, wanted: (view: LiveView) => boolean): Promise<LiveView> {
  const headers = { authorization: `Bearer ${await adminTokenOf(dataDir)}` };
  const signal = AbortSignal.timeout(30_000);
  const response = await fetch(`${url}/rains/${activityId}/live`, { headers, signal });
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString();
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data: ')) continue;
      const seen = JSON.parse(line.slice('data: '.length)) as LiveView;
      if (wanted(seen)) return seen;
    }
  }
  throw new Error('the live view ended');
}

it('runs three processes on a Cluster; a killed one is started again, and not a cent is lost', async () => {
  const started = (program = Program.node([built('cluster.js')], { PORT: '0', DATA_DIR: dataDir }));
  const addresses = (): string[] => [...started.stdout.matchAll(/Listening on (http:\S+)/g)].map(([, url = '']) => url);
  await waitUntil('three processes serve', () => addresses().length === 3, 90_000);
  const health = (url: string) => api<{ pid: number; ledger: boolean }>(`${url}/health`, 'GET');
  const all = await Promise.all(addresses().map(async (url) => ({ url, ...(await health(url)).body })));
  // The one with the ledger, so that another has to take that over, too.
  const { pid: victim } = all.find(({ ledger }) => ledger) as (typeof all)[number];
  const [first, second] = all.filter(({ ledger }) => !ledger).map(({ url }) => url) as [string, string];

  const options = ['--users', '3000', '--packets', '800', '--total', '4321.09', '--activity', 'three', '--json'];
  const rain = Program.node([built('rain/main.js'), '--url', first, ...options], { DATA_DIR: dataDir });
  await view(second, 'three', ({ status }) => status.grantedPackets > 50).catch(async () =>
    view(second, 'three', ({ status }) => status.grantedPackets > 50),
  );
  process.kill(victim, 'SIGKILL');
  await waitUntil('the killed process is gone', () => !alive(victim));
  const ended = await rain.status();
  if (ended !== 0) throw new Error(`${rain.stdout}\n${rain.stderr}\n${started.stderr}\n${started.stdout}`);
  expect(JSON.parse(rain.stdout)).toMatchObject({ ok: true, winners: 800, grantedCents: 432_109, paidCents: 432_109 });

  // Three again, all told to each of them, and the audit job ran on one of them for each slot.
  await waitUntil('a process takes its place', () => addresses().length === 4, 60_000);
  const whole = await view(
    second,
    'three',
    ({ nodes }) => nodes.filter(({ node }) => !node.endsWith(`:${victim}`)).length === 3,
  );
  expect(whole.faults).toEqual([]);
  expect(whole).toMatchObject({ payoutsBehind: 0, status: { remainingPackets: 0 }, ledger: { cents: 432_109 } });
  const slots = whole.jobs.filter(({ outcome }) => outcome === 'ran').map(({ slot }) => slot);
  expect(new Set(slots).size).toBe(slots.length);

  expect(await started.end('SIGTERM')).toBe(0);
});
