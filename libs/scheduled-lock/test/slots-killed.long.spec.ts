import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { CommandWatcher } from '../../../test/support/command-watcher';
import { note } from '../../../test/support/fault-notes';
import { uniquePrefix } from '../../../test/support/shared-servers';
import type { Span } from '../../../test/support/takeovers';
import { eventually, sleep } from '../../../test/support/wait';
import { proveSlots, type Proof } from './slot-proof';
import { readClaims, readNode, type ClaimRecord, type NodeRecord } from './slot-records';
import { quickPulse } from './stalls';
import { Child } from './support';
import { size } from '../../../test/support/size';

const RUN_MS = size(9_000, 600_000);
const EACH_MS = [size(1_500, 3_000), size(4_000, 12_000)] as const;
const STOPPED_MS = [50, 4_000] as const;
const DEAD_MS = [0, 1_500] as const;
const LEASE_MS = 1_500;
/** How much longer the run may last until each job ran, ms. On a busy machine a process may take many seconds to start. */
const START_MS = 60_000;
const JOBS = [
  ['cron', 1_000],
  ['every', 200],
] as const;

const between = ([least, most]: readonly [number, number]): number => least + Math.random() * (most - least);

interface Life {
  readonly name: string;
  readonly file: string;
  readonly child: Child;
  readonly stops: [number, number][];
  killedAt: number | undefined;
}

let server: RedisServer;
let folder: string;
const lives: Life[] = [];

beforeAll(async () => {
  server = await startRedis();
  folder = mkdtempSync(join(tmpdir(), 'luanest-slots-'));
});
afterAll(async () => {
  Child.killAll();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a process, and kills or stops it in turn, at random times, until `over`. */
async function live(place: number, env: Record<string, string>, over: () => boolean): Promise<void> {
  let kills = place % 2 === 0;
  for (let life = start(); ; life = start()) {
    while (life.killedAt === undefined) {
      await sleep(between(EACH_MS));
      if (over()) return;
      if ((kills = !kills)) await kill(life);
      else await stop(life);
    }
    await sleep(between(DEAD_MS));
    if (over()) return;
  }
  function start(): Life {
    const name = `p${place}.${lives.length}`;
    const file = join(folder, name);
    const child = Child.start('record-node.cjs', { ...env, NODE_NAME: name, RECORD_FILE: file });
    const life: Life = { name, file, child, stops: [], killedAt: undefined };
    lives.push(life);
    return life;
  }
}

/** True once each job ran in some process. */
function everyJobRan(): boolean {
  const outcomes = lives.flatMap(({ name, file, ...faults }) => readNode(name, file, faults).outcomes);
  return JOBS.every(([job]) => outcomes.some((one) => one.job === job && one.status === 'ran'));
}

async function kill(life: Life): Promise<void> {
  const exit = once(life.child.process, 'exit');
  life.killedAt = Date.now();
  life.child.process.kill('SIGKILL');
  await exit;
  note('workers killed (SIGKILL)');
}

async function stop({ child, stops }: Life): Promise<void> {
  const from = Date.now();
  child.process.kill('SIGSTOP');
  await sleep(between(STOPPED_MS));
  child.process.kill('SIGCONT');
  stops.push([from, Date.now()]);
  note('workers stopped (SIGSTOP)');
}

it(
  'three processes that are killed and stopped at random run each slot once, or the records show why nobody could',
  async () => {
    const watcher = await CommandWatcher.open(server.port);
    const pulse = quickPulse(server.url);
    const env = { PREFIX: uniquePrefix(), REDIS_URL: server.url, LEASE_MS: String(LEASE_MS) };
    const endAt = Date.now() + RUN_MS;
    const over = (): boolean => Date.now() > endAt && (everyJobRan() || Date.now() > endAt + START_MS);
    await Promise.all([1, 2, 3].map((place) => live(place, env, over)));
    const stoppedAt = Date.now();
    for (const { child, killedAt } of lives) if (killedAt === undefined) child.process.send('stop');
    await eventually(
      () => {
        const running = lives.filter(
          ({ child: { process } }) => process.exitCode === null && process.signalCode === null,
        );
        expect(running.map(({ name }) => name)).toEqual([]);
      },
      { timeoutMs: 60_000 },
    );
    watcher.close();
    await pulse.stop();
    // While Redis answers nobody, each process stands still.
    const nodes = lives
      .map(({ name, file, killedAt, stops }) => readNode(name, file, { killedAt, stops }))
      .map((node) => ({ ...node, stalls: [...node.stalls, ...pulse.stalls] }));
    const claims = readClaims(watcher.commands);
    const span: Span = [Math.min(...nodes.map(({ readyAt }) => readyAt)), stoppedAt];
    const proofs = JOBS.map(([job, periodMs]) => [job, proveSlots(job, periodMs, nodes, claims, span)] as const);
    report(proofs, nodes, claims, span);
    for (const [job, { slots, ran, twice, unexplained }] of proofs) {
      note('messages, tasks, slots and grabs checked one by one', slots);
      note('lost', unexplained.length);
      expect([job, 'twice', twice]).toEqual([job, 'twice', []]);
      expect([job, 'unexplained', unexplained]).toEqual([job, 'unexplained', []]);
      expect(ran).toBeGreaterThan(0);
    }
    expectNoticed(nodes, claims, span);
  },
  RUN_MS * 1.5 + START_MS + 180_000,
);

/** Checks that the proof needs each record: a slot that ran, without its record, is not explained; with two, it ran twice. */
function expectNoticed(nodes: readonly NodeRecord[], claims: readonly ClaimRecord[], span: Span): void {
  const runs = nodes.flatMap((node) => node.runs.map((run) => ({ node, run }))).filter(({ run }) => run.job === 'cron');
  // Of a node that was killed or stood still in that second it is not known.
  const noticed = runs.filter(({ node, run }) => {
    const without = nodes.map((one) =>
      one === node ? { ...one, runs: one.runs.filter((each) => each !== run) } : one,
    );
    const slots = proveSlots('cron', 1_000, without, claims, span).unexplained.map(({ slot }) => slot);
    expect([[], [run.slot]]).toContainEqual(slots);
    return slots.length > 0;
  });
  expect(noticed.length).toBeGreaterThan(0);
  const { node, run } = noticed[0] as (typeof noticed)[number];
  const doubled = nodes.map((one) => (one === node ? { ...one, runs: [...one.runs, run] } : one));
  expect(proveSlots('cron', 1_000, doubled, claims, span).twice).toEqual([run.slot]);
}

function report(
  proofs: readonly (readonly [string, Proof])[],
  nodes: readonly NodeRecord[],
  claims: readonly ClaimRecord[],
  span: Span,
): void {
  const killed = nodes.filter((node) => node.killed).length;
  const stopped = nodes.reduce((sum, { stops }) => sum + stops.length, 0);
  const lines = [`    ${nodes.length} processes, ${killed} killed, ${stopped} stops`];
  for (const [job, { slots, ran, twice, missing, unexplained }] of proofs) {
    const reasons = new Map<string, number>();
    for (const reason of missing.values()) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    lines.push(`    ${job}: ${slots} slots, ${ran} ran, ${twice.length} twice, ${unexplained.length} unexplained`);
    for (const [reason, count] of reasons) lines.push(`      ${count}: ${reason}`);
  }
  process.stdout.write(`${lines.join('\n')}\n`);
  if (process.env.LUANEST_SLOT_RECORDS) {
    const all = {
      nodes,
      claims,
      span,
      proofs: proofs.map(([job, proof]) => [job, { ...proof, missing: [...proof.missing] }]),
    };
    writeFileSync(process.env.LUANEST_SLOT_RECORDS, JSON.stringify(all));
  }
}
