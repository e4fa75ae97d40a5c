import { note } from '../../../test/support/fault-notes';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import type { Span } from '../../../test/support/takeovers';
import { eventually } from '../../../test/support/wait';
import { quickPulse } from './stalls';
import { Child } from './support';
import { size } from '../../../test/support/size';

// All jobs share one window: this file takes about as many seconds as there are cron slots.
const CRON_SLOTS = size(8, 1_000);
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
  readonly ticks?: readonly (readonly [job: string, status: string, slot: number, toldAt: number])[];
  readonly runs?: readonly (readonly [job: string, slot: number, startedAt: number, endedAt: number])[];
  readonly stalls?: readonly Span[];
  /** How often each job's timer has fired so far, and had when the node was asked to stop. */
  readonly fires?: Readonly<Record<string, number>>;
  readonly firesBeforeClose?: Readonly<Record<string, number>>;
}

const ENDED = SKEWS_MS.map(() => [0, false]);

const reportsOf = ({ messages }: Child): Report[] => messages as Report[];

function runsOf(children: readonly Child[], job: string): Run[] {
  const all = children.flatMap((child) => reportsOf(child).flatMap(({ runs = [] }) => runs));
  return all
    .filter(([name]) => name === job)
    .map(([, slot, startedAt, endedAt]) => ({ slot, startedAt, endedAt }))
    .sort((one, other) => one.slot - other.slot);
}

function ticksOf(child: Child, job: string): { status: string; slot: number; toldAt: number }[] {
  const all = reportsOf(child).flatMap(({ ticks = [] }) => ticks);
  return all.filter(([name]) => name === job).map(([, status, slot, toldAt]) => ({ status, slot, toldAt }));
}

/** How long a node may take to see that a lock is free, ms. */
const LOOK_MS = 40;

/** Ticks of a slot of a second come as far apart as the clocks are, and meet a run that stood still for as long. */
const LONG_STALL_MS = 250;

/**
 * Slots that were over before the nodes were stopped, and that nobody ran although a timer fired. A period in which the
 * lock of the one before was only given back at its very end, or in which a process or Redis stood still, is not counted.
 */
function missed(
  children: readonly Child[],
  job: string,
  periodMs: number,
  stoppedAt: number,
  redisStalls: readonly Span[],
): number[] {
  const ticks = children.flatMap((child) => ticksOf(child, job));
  const runs = ticks.filter(({ status }) => status === 'ran');
  const ran = new Set(runs.map(({ slot }) => slot));
  const stalls = [
    ...redisStalls,
    ...children.flatMap((child) => reportsOf(child).flatMap(({ stalls = [] }) => stalls)),
  ];
  const hopeless = (slot: number): boolean =>
    runs.some((run) => run.slot < slot && run.toldAt > slot + periodMs - LOOK_MS) ||
    stalls.some(([from, to]) => from < slot + periodMs && to > slot);
  // Slots of a second are long enough for any machine that does not stand still.
  const stoodStill = (slot: number): boolean =>
    stalls.some(([from, to]) => to - from > LONG_STALL_MS && from < slot + 2 * periodMs && to > slot - periodMs);
  const fired = new Set(ticks.map(({ slot }) => slot));
  const over = [...fired].filter((slot) => slot + periodMs < stoppedAt && !ran.has(slot));
  return over.filter((slot) => !(periodMs >= 1_000 ? stoodStill(slot) : hopeless(slot)));
}

/** Returns the output of a node without the scheduler's messages on late timers. */
function printedBy({ output }: Child): string {
  return output.replaceAll(/^\[Cron\] Missed execution deadline .*\n/gm, '');
}

/** Each fire of a timer came to an status; those that came while the app closed may have. */
function expectAllTold(node: Child, job: string): void {
  const ticks = ticksOf(node, job);
  const reports = reportsOf(node);
  const fires = reports.findLast((report) => report.fires)?.fires?.[job] ?? 0;
  const before = reports.find(({ firesBeforeClose }) => firesBeforeClose)?.firesBeforeClose?.[job] ?? Infinity;
  // A cron timer may fire before the node counts its fires, as soon as the app has started.
  const uncounted = job.startsWith('cron') ? 1 : 0;
  expect([job, ticks.length >= before, ticks.length <= fires + uncounted]).toEqual([job, true, true]);
  const outcomes = new Set(ticks.map(({ status }) => status));
  for (const usual of ['ran', 'skipped-slot', 'skipped-held']) outcomes.delete(usual);
  expect([job, [...outcomes]]).toEqual([job, []]);
}

afterAll(() => Child.killAll());

it(
  'three processes whose clocks differ by up to 800 ms run each job exactly once for each slot',
  async () => {
    const prefix = uniquePrefix();
    const pulse = quickPulse(sharedRedisUrl());
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
    await pulse.stop();
    for (const { process } of nodes) process.send('stop');
    // The last of what they report may be read after their end is known.
    await eventually(
      () => expect(nodes.map(({ process: { exitCode, connected } }) => [exitCode, connected])).toEqual(ENDED),
      { timeoutMs: 30_000 },
    );
    expect(nodes.map(printedBy)).toEqual(['', '', '']);

    for (const [job, { periodMs }] of Object.entries(JOBS)) {
      const runs = runsOf(nodes, job);
      const slots = runs.map(({ slot }) => slot);
      expect([job, 'twice', slots.filter((slot, i) => slot === slots[i - 1])]).toEqual([job, 'twice', []]);
      const lost = missed(nodes, job, periodMs, stoppedAt, pulse.stalls);
      note('messages, tasks, slots and grabs checked one by one', slots.length);
      note('lost', lost.length);
      expect([job, 'missed', lost]).toEqual([job, 'missed', []]);
      expect(slots.filter((slot) => slot % periodMs !== 0)).toEqual([]);
      // One at a time, too.
      const overlapping = runs.filter(({ startedAt }, i) => startedAt < (runs[i - 1]?.endedAt ?? 0));
      expect([job, overlapping]).toEqual([job, []]);
      for (const node of nodes) expectAllTold(node, job);
    }
  },
  CRON_SLOTS * 2_000 + 120_000,
);
