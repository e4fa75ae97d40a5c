import { ConsoleLogger, Logger } from '@nestjs/common';
import type { StreamConsumerOptions, StreamHandler } from 'luanest/stream-consumer';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { time } from '../../internal/src';
import type { Look } from '../src/activity/index.scripts';
import { PayoutRunner } from '../src/payouts/payout-runner';
import type { Payout } from '../src/payouts/payouts.types';
import type { ActivityStatus } from '../src/red-packet.types';

const IN_AN_HOUR_MS = 3_600_000;

/** Look at an activity that owes nothing and goes on. */
export const QUIET: Look = {
  open: 0,
  dead: 0,
  state: 'open',
  endsAtMs: Infinity,
  expiresAtMs: Infinity,
  settled: false,
};

export interface Reader {
  readonly options: StreamConsumerOptions;
  readonly handle: (message: object) => unknown;
  stopped: boolean;
}

/** A payout run whose Redis is an object of the test. `discoverMs` is 1,000, `pollMs` 100. */
export class FakeRun {
  /** Status of each activity in Redis. */
  readonly statuses = new Map<string, ActivityStatus>();
  readonly looks = new Map<string, Look[]>();
  /** Activities that were woken since the last poll. */
  woken: string[] = [];
  /** Calls, without polls, pages and looks. */
  readonly calls: string[] = [];
  readonly readers: Reader[] = [];
  readonly paid: Payout[] = [];
  outboxKeys = ['p:{a}:outbox'];
  /** Makes the methods of this name fail. */
  readonly failing = new Map<string, Error>();
  readonly run: PayoutRunner;

  constructor() {
    const fail = (method: string): void => {
      const error = this.failing.get(method);
      if (error) throw error;
    };
    const call = async (method: string, ...args: unknown[]): Promise<void> => {
      this.calls.push(`${method} ${args.join(' ')}`);
      await Promise.resolve();
      fail(method);
    };
    const packets = {
      status: async (id: string) => (await call('status', id), this.statuses.get(id)),
      outboxes: async (id: string) => (await call('outboxes', id), this.outboxKeys),
      settle: (id: string) => call('settle', id),
    };
    const index = {
      add: (id: string, retentionMs: number, fromMs: number) => call('add', id, retentionMs, fromMs),
      page: async () => (await Promise.resolve(), fail('page'), { cursor: '0', ids: [...this.looks.keys()] }),
      look: async (id: string) => (await Promise.resolve(), fail('look'), this.looks.get(id) ?? []),
      wokenAfter: async () => (
        await Promise.resolve(),
        fail('wokenAfter'),
        { lost: false, last: 1, ids: this.woken.splice(0) }
      ),
    };
    const streams = {
      consume: async (options: StreamConsumerOptions, handle: StreamHandler) => {
        await call('consume');
        const reader = { options, handle: handle as Reader['handle'], stopped: false };
        this.readers.push(reader);
        return { stop: () => Promise.resolve(void (reader.stopped = true)) };
      },
      forgetStream: () => this.calls.push('forget'),
    };
    this.run = new PayoutRunner(packets as never, index, streams as never, (payout) => void this.paid.push(payout), {
      consumer: { pollMs: 100, concurrency: 3 },
      discoverMs: 1_000,
    });
  }

  /** Puts an activity into Redis, and its id into the index. */
  activity(id: string, parts: Partial<ActivityStatus> = {}, look: Partial<Look> = {}): void {
    const status = {
      state: 'open',
      outboxLength: 1,
      grantedPackets: 1,
      deadLetters: 0,
      remainingPackets: 5,
      unreportedPackets: 0,
      overdue: false,
      settled: false,
      expiresAtMs: time.nowMs() + IN_AN_HOUR_MS,
      ...parts,
    } as ActivityStatus;
    this.statuses.set(id, status);
    this.looks.set(id, [{ ...QUIET, open: status.outboxLength, state: status.state, ...look }]);
  }

  /** Returns the calls since the last time. */
  take(): string[] {
    return this.calls.splice(0);
  }
}

/** Makes a run for each test of the block, in a time that stands still, and stops it after the test. */
export function runInEachTest() {
  const manual = new ManualTime();
  const lines: string[] = [];
  const current = {
    time: manual,
    /** Lines that the run has logged. */
    lines,
    fake: undefined as unknown as FakeRun,
    /** Starts the run, and lets it look for activities. */
    start: async (): Promise<void> => {
      current.fake.run.start();
      await manual.pass(0);
      await turn();
    },
  };
  beforeEach(() => {
    Logger.overrideLogger(new ConsoleLogger({ logLevels: [] }));
    lines.length = 0;
    for (const level of ['log', 'warn'] as const) {
      jest
        .spyOn(Logger.prototype, level)
        .mockImplementation((...[line]: unknown[]) => void lines.push(`${level}: ${String(line)}`));
    }
    // So that all pauses are their mean.
    jest.spyOn(Math, 'random').mockReturnValue(0.5);
    current.fake = new FakeRun();
  });
  afterEach(async () => {
    const stopped = current.fake.run.stop();
    await manual.pass(10_000);
    await stopped;
    jest.restoreAllMocks();
  });
  return current;
}
