import { setTimeout as sleep } from 'node:timers/promises';
import { note } from '../../../test/support/fault-notes';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { Child } from './support';

// All jobs share one window: this file takes about as many seconds as there are cron slots.
const CRON_SLOTS = process.env.LUANEST_LONG === '1' ? 1_000 : 100;
const SKEWS_MS = [-400, 0, 400];
const JOBS: Record<string, { readonly periodMs: number; readonly slots: number }> = {
  cron1: { periodMs: 1_000, slots: CRON_SLOTS },
  cron100: { periodMs: 1_000, slots: CRON_SLOTS },
  every1: { periodMs: 200, slots: CRON_SLOTS * 4.5 },
  every100: { periodMs: 200, slots: CRON_SLOTS * 4.5 },
  fast1: { periodMs: 100, slots: CRON_SLOTS * 9 },
  fast20: { periodMs: 100, slots: CRON_SLOTS * 9 },
};

interface Run {
  readonly slot: number;
  readonly startedAt: number;
  readonly endedAt: number;
}

interface Report {
  readonly ticks?: readonly (readonly [job: string, outcome: string, slot: number, toldAt: number])[];
  readonly runs?: readonly (readonly [job: string, slot: number, startedAt: number, endedAt: number])[];
  readonly stalls?: readonly (readonly [from: number, to: number])[];
  readonly fires?: Readonly<Record<string, number>>;
}

const reportsOf = ({ messages }: Child): Report[] => messages as Report[];

function runsOf(children: readonly Child[], job: string): Run[] {
  const all = children.flatMap((child) => reportsOf(child).flatMap(({ runs = [] }) => runs));
  return all
    .filter(([name]) => name === job)
    .map(([, slot, startedAt, endedAt]) => ({ slot, startedAt, endedAt }))
    .sort((one, other) => one.slot - other.slot);
}

function ticksOf(child: Child, job: string): { outcome: string; slot: number; toldAt: number }[] {
  const all = reportsOf(child).flatMap(({ ticks = [] }) => ticks);
  return all.filter(([name]) => name === job).map(([, outcome, slot, toldAt]) => ({ outcome, slot, toldAt }));
}

/** How long a node may take to see that a lock is free, ms. */
const LOOK_MS = 40;

type Stall = readonly [from: number, to: number];

/** Notes when Redis took longer than a look to answer; the nodes note their own stalls. */
function watchRedis(): { readonly stalls: Stall[]; readonly stop: () => Promise<void> } {
  const client = standaloneClient();
  const stalls: Stall[] = [];
  let watching = true;
  const watch = async (): Promise<void> => {
    for (let from = Date.now(); watching;) {
      await sleep(10);
      await client.ping();
      const to = Date.now();
      if (to - from > LOOK_MS) stalls.push([from, to]);
      from = to;
    }
  };
  const watched = watch();
  const stop = async (): Promise<void> => {
    watching = false;
    await watched;
    client.disconnect();
  };
  return { stalls, stop };
}

/**
 * Slots that were over before the nodes were stopped, and that nobody ran although a timer fired. A period in which the
 * lock of the one before was only given back at its very end, or in which a process or Redis stood still, is not counted.
 */
function missed(
  children: readonly Child[],
  job: string,
  periodMs: number,
  stoppedAt: number,
  redisStalls: readonly Stall[],
): number[] {
  const ticks = children.flatMap((child) => ticksOf(child, job));
  const runs = ticks.filter(({ outcome }) => outcome === 'ran');
  const ran = new Set(runs.map(({ slot }) => slot));
  const stalls = [
    ...redisStalls,
    ...children.flatMap((child) => reportsOf(child).flatMap(({ stalls = [] }) => stalls)),
  ];
  const hopeless = (slot: number): boolean =>
    runs.some((run) => run.slot < slot && run.toldAt > slot + periodMs - LOOK_MS) ||
    stalls.some(([from, to]) => from < slot + periodMs && to > slot);
  const fired = new Set(ticks.map(({ slot }) => slot));
  const over = [...fired].filter((slot) => slot + periodMs < stoppedAt && !ran.has(slot));
  // Slots of a second are long enough for any machine.
  return over.filter((slot) => periodMs >= 1_000 || !hopeless(slot));
}

afterAll(() => Child.killAll());

it(
  'three processes whose clocks differ by up to 800 ms run each job exactly once for each slot',
  async () => {
    const prefix = uniquePrefix();
    const redis = watchRedis();
    const nodes = SKEWS_MS.map((skew) => Child.start('slots-node.cjs', { SKEW_MS: String(skew), PREFIX: prefix }));
    await eventually(
      () => {
        for (const [job, { slots }] of Object.entries(JOBS)) {
          expect([job, runsOf(nodes, job).length >= slots]).toEqual([job, true]);
        }
      },
      { timeoutMs: CRON_SLOTS * 1_500 + 60_000, everyMs: 1_000 },
    );
    const stoppedAt = Date.now();
    await redis.stop();
    for (const { process } of nodes) process.send('stop');
    await eventually(() => expect(nodes.map(({ process }) => process.exitCode)).toEqual([0, 0, 0]));
    expect(nodes.map(({ output }) => output)).toEqual(['', '', '']);

    for (const [job, { periodMs }] of Object.entries(JOBS)) {
      const runs = runsOf(nodes, job);
      const slots = runs.map(({ slot }) => slot);
      expect([job, 'twice', slots.filter((slot, i) => slot === slots[i - 1])]).toEqual([job, 'twice', []]);
      const lost = missed(nodes, job, periodMs, stoppedAt, redis.stalls);
      note('messages, tasks, slots and grabs checked one by one', slots.length);
      note('lost', lost.length);
      expect([job, 'missed', lost]).toEqual([job, 'missed', []]);
      expect(slots.filter((slot) => slot % periodMs !== 0)).toEqual([]);
      // One at a time, too.
      const overlapping = runs.filter(({ startedAt }, i) => startedAt < (runs[i - 1]?.endedAt ?? 0));
      expect([job, overlapping]).toEqual([job, []]);
      for (const node of nodes) {
        const ticks = ticksOf(node, job);
        const fires = reportsOf(node).find((report) => report.fires)?.fires?.[job] ?? 0;
        // Each fire of a timer came to an outcome; a few may fire while the app closes.
        expect(fires - ticks.length).toBeGreaterThanOrEqual(0);
        expect(fires - ticks.length).toBeLessThanOrEqual(5);
        const outcomes = new Set(ticks.map(({ outcome }) => outcome));
        for (const usual of ['ran', 'skipped-slot', 'skipped-held']) outcomes.delete(usual);
        expect([job, [...outcomes]]).toEqual([job, []]);
      }
    }
  },
  CRON_SLOTS * 2_000 + 120_000,
);
