import { LostError } from 'luanest/script-registry';
import { LockBusyError, LockService, type Lock } from 'luanest/lock';
import { resolveOptions } from '../../../libs/lock/src/lock.options';
import { lockScripts } from '../../../libs/lock/src/lock.scripts';
import { ANYBODY, LockModel, type LockInput, type LockOperation, type LockOutput } from '../models/lock';
import { UnknownResult, type Session, type Step } from '../record/client';
import type { Recorded } from '../record/journal';
import { choose, type Random } from '../record/random';
import {
  earlierSendings,
  narrowed,
  operationOf,
  SLACK_MS,
  type Bench,
  type BenchContext,
  type HistoryPlan,
  type Subject,
} from './subject';

/** `try`: nobody waits, and no lease ends. `wait`: callers wait. `lease`: leases end within the history. */
const FLAVOURS = ['try', 'wait', 'lease'] as const;
const LONG_MS = 600_000;
const SHORT_MS = 120;
const WAIT_MS = 30;

class LockSession implements Session {
  private held: { readonly lock: Lock; readonly id: string } | undefined;

  constructor(
    private readonly locks: LockService,
    private readonly plan: HistoryPlan,
    private readonly random: Random,
  ) {}

  next(): Step {
    const { held } = this;
    const kind =
      held === undefined
        ? choose(this.random, [
            [14, 'acquire'],
            [4, 'status'],
            [this.plan.flavour === 'lease' ? 0.5 : 2.5, 'force'],
          ])
        : choose(this.random, [
            [8, 'release'],
            [5, 'extend'],
            [3, 'status'],
          ]);
    if (kind === 'status') return statusStep(this.locks, this.plan.key);
    if (kind === 'force') return this.force();
    if (kind === 'acquire' || held === undefined) return this.acquire();
    return kind === 'release' ? this.release(held.lock, held.id) : this.extend(held.lock, held.id);
  }

  private acquire(): Step {
    const { key, flavour } = this.plan;
    // Renewals of a timer would be operations that nobody records.
    const options = { leaseMs: flavour === 'lease' ? SHORT_MS : LONG_MS, renew: false };
    const acquired = (): Promise<Lock | undefined> =>
      flavour === 'wait'
        ? this.locks.acquire(key, { ...options, waitMs: WAIT_MS }).catch((error: unknown) => {
            if (error instanceof LockBusyError) return undefined;
            throw error;
          })
        : this.locks.tryAcquire(key, options);
    const call = async (id: string): Promise<LockOutput> => {
      const lock = await acquired();
      if (lock === undefined) return { says: 'busy' };
      this.held = { lock, id };
      return { fence: lock.fence };
    };
    return { input: { op: 'acquire' } satisfies LockInput, call };
  }

  private release(lock: Lock, of: string): Step {
    this.held = undefined;
    return {
      input: { op: 'release', of } satisfies LockInput,
      call: async (): Promise<LockOutput> => {
        const says = await lock.release();
        if (says === 'unknown') throw new UnknownResult();
        return { says };
      },
    };
  }

  private extend(lock: Lock, of: string): Step {
    const call = async (): Promise<LockOutput> => {
      try {
        await lock.extend();
        return { says: 'extended' };
      } catch (error) {
        if (!(error instanceof LostError)) throw error;
        this.held = undefined;
        return { says: 'lost' };
      }
    };
    return { input: { op: 'extend', of } satisfies LockInput, call };
  }

  private force(): Step {
    const call = async (): Promise<LockOutput> => {
      const { forced, fence } = await this.locks.forceUnlock(this.plan.key);
      return { held: forced, fence };
    };
    return { input: { op: 'force' } satisfies LockInput, call };
  }
}

function statusStep(locks: LockService, key: string): Step {
  const call = async (): Promise<LockOutput> => {
    const status = await locks.status(key);
    return { held: status.held, fence: status.fence, ...(status.held && { holder: status.node }) };
  };
  return { input: { op: 'status' } satisfies LockInput, call };
}

function open({ connection, journal }: BenchContext): Bench {
  const options = { ...resolveOptions({ node: journal.process }), pollMs: 50, deadlineMs: 250 };
  const locks = new LockService(connection.registry, options);
  return {
    session: (plan, random) => new LockSession(locks, plan, random),
    last: ({ key }) => [statusStep(locks, key)],
  };
}

function operations(plan: HistoryPlan, recorded: readonly Recorded[]): LockOperation[] {
  const leasesEnd = plan.flavour === 'lease';
  return recorded.flatMap((one): LockOperation[] => {
    const operation = operationOf<LockOperation>(one, ({ op }) => op === 'status');
    if (operation === undefined) return [];
    const { id, input, output } = operation;
    if (input.op === 'status') return [operation];
    if (input.op !== 'acquire') {
      // After a release that says `released`, an earlier sending had the same effect, or none.
      const repeats = output?.says === 'released' ? [] : earlierSendings(plan, operation, one);
      const all = [narrowed(operation, one, momentOf(operation)), ...repeats];
      return input.op === 'extend' && leasesEnd ? [...all, ...all.map(expiryOf)] : all;
    }
    const owner = output === undefined ? ANYBODY : id;
    const called: LockOperation = { ...operation, input: { op: 'acquire', owner } };
    const repeats = earlierSendings(plan, called, one);
    const sent = narrowed(called, one, momentOf(operation));
    if (output === undefined) return [sent, ...repeats];
    const all = [sent, ...repeats, ...(leasesEnd ? [sent, ...repeats].map(expiryOf) : [])];
    // A reply that comes after the lease is not used, and the lock is released.
    const isLate = leasesEnd && output.says === 'busy' && operation.return - operation.call >= SHORT_MS - SLACK_MS;
    if (!isLate) return all;
    const unknown = { op: 'acquire', owner: ANYBODY } as const;
    return [...all, { ...sent, id: `${id}/late`, input: unknown, output: undefined, optional: true }];
  });
}

/** A fence is Redis' time of the acquisition, in microseconds. */
function momentOf({ input, output }: LockOperation): number | undefined {
  return input.op === 'status' || output?.fence === undefined ? undefined : output.fence / 1_000;
}

/** The end of the lease that an operation set, by Redis' clock. */
function expiryOf({ id, call, return: end, input }: LockOperation): LockOperation {
  // All sendings of an acquisition have the same owner.
  const of = input.op === 'acquire' ? (input.owner ?? id) : id;
  return {
    id: `${id}/end`,
    call: call + SHORT_MS - SLACK_MS,
    return: end + SHORT_MS + SLACK_MS,
    input: { op: 'expire', of },
    output: {},
  };
}

export const lock: Subject = {
  name: 'lock',
  flavours: FLAVOURS,
  scripts: lockScripts,
  open,
  operations,
  model: ({ flavour }) => new LockModel({ leasesEnd: flavour === 'lease', waiting: flavour === 'wait' }),
};
