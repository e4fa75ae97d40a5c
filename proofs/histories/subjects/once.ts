import { OnceService, type Claim } from 'luanest/once';
import { resolveOptions } from '../../../libs/once/src/once.options';
import { onceScripts } from '../../../libs/once/src/once.scripts';
import { OnceStore } from '../../../libs/once/src/once.store';
import { ANYBODY, OnceModel, type OnceInput, type OnceOperation, type OnceOutput } from '../models/once';
import type { Session, Step } from '../record/client';
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

/** `long`: no lease ends. `least`, `most`: leases and retentions end, with each delivery. `first`: calls of `first`. */
const FLAVOURS = ['long', 'least', 'most', 'first'] as const;
const LEASE_MS = 120;
const RETENTION_MS = 400;
const LONG_MS = 600_000;

class OnceSession implements Session {
  private owned: { readonly claim: Claim; readonly id: string } | undefined;

  constructor(
    private readonly once: OnceService,
    private readonly plan: HistoryPlan,
    private readonly random: Random,
  ) {}

  next(): Step {
    if (this.plan.flavour === 'first') return this.first();
    const { owned } = this;
    const confirms = this.plan.flavour === 'long' ? 0.7 : 4;
    const kind =
      owned === undefined
        ? choose(this.random, [
            [10, 'claim'],
            [3, 'peek'],
          ])
        : choose(this.random, [
            [8, 'release'],
            [confirms, 'confirm'],
            [5, 'renew'],
            [2, 'peek'],
            [1, 'claim'],
          ]);
    if (kind === 'peek') return peekStep(this.once, this.plan.key);
    if (kind === 'claim' || owned === undefined) return this.claim();
    if (kind === 'renew') return this.renew(owned.claim, owned.id);
    this.owned = undefined;
    return kind === 'release' ? this.release(owned.claim, owned.id) : this.confirm(owned.claim, owned.id);
  }

  private first(): Step {
    const call = async (): Promise<OnceOutput> => ({
      status: 'first',
      first: await this.once.first(this.plan.key, { retentionMs: RETENTION_MS }),
    });
    return { input: { op: 'first' } satisfies OnceInput, call };
  }

  private claim(): Step {
    const { key, flavour } = this.plan;
    const call = async (id: string): Promise<OnceOutput> => {
      const answer = await this.once.claim(key, {
        leaseMs: flavour === 'long' ? LONG_MS : LEASE_MS,
        retentionMs: flavour === 'long' ? LONG_MS : RETENTION_MS,
        delivery: deliveryOf(this.plan),
      });
      if (answer.status === 'in-progress') return { status: 'in-progress' };
      if (answer.status === 'done') return doneOf(answer);
      this.owned = { claim: answer, id };
      return { status: 'claimed', fence: answer.fence };
    };
    return { input: { op: 'claim' } satisfies OnceInput, call };
  }

  private renew(claim: Claim, of: string): Step {
    const call = async (): Promise<OnceOutput> => {
      const { status } = await claim.renew();
      if (status === 'lost') this.owned = undefined;
      return { status };
    };
    return { input: { op: 'renew', of } satisfies OnceInput, call };
  }

  private confirm(claim: Claim, of: string): Step {
    const result = `result of ${of}`;
    const call = async (): Promise<OnceOutput> => ({ status: (await claim.confirm(result)).status });
    return { input: { op: 'confirm', of, result } satisfies OnceInput, call };
  }

  private release(claim: Claim, of: string): Step {
    const call = async (): Promise<OnceOutput> => ({ status: (await claim.release()).status });
    return { input: { op: 'release', of } satisfies OnceInput, call };
  }
}

function deliveryOf({ flavour }: HistoryPlan): 'at-least-once' | 'at-most-once' {
  return flavour === 'most' ? 'at-most-once' : 'at-least-once';
}

function doneOf({ result, confirmed }: { readonly result: unknown; readonly confirmed: boolean }): OnceOutput {
  return { status: 'done', confirmed, ...(confirmed && { result: String(result) }) };
}

function peekStep(once: OnceService, key: string): Step {
  const call = async (): Promise<OnceOutput> => {
    const answer = await once.peek(key);
    if (answer.status === 'done') return doneOf(answer);
    return answer.status === 'in-progress' ? { status: 'in-progress', fence: answer.fence } : { status: 'unknown' };
  };
  return { input: { op: 'peek' } satisfies OnceInput, call };
}

function open({ connection }: BenchContext): Bench {
  const once = new OnceService(new OnceStore(connection.registry), resolveOptions({}));
  return {
    session: (plan, random) => new OnceSession(once, plan, random),
    last: ({ key, flavour }) => (flavour === 'first' ? [] : [peekStep(once, key)]),
  };
}

function operations(plan: HistoryPlan, recorded: readonly Recorded[]): OnceOperation[] {
  const leasesEnd = plan.flavour !== 'long';
  const claims = new Map(recorded.map((one) => [one.id, one]));
  return recorded.flatMap((one): OnceOperation[] => {
    const operation = operationOf<OnceOperation>(one, ({ op }) => op === 'peek');
    if (operation === undefined) return [];
    const { input, output } = operation;
    if (input.op === 'peek') return [operation];
    const isUnknown = input.op === 'claim' && output === undefined;
    const called = { ...operation, input: inputOf(operation, isUnknown, claims) };
    // A fence is Redis' time of the claim, in microseconds.
    const sent = narrowed(called, one, output?.fence === undefined ? undefined : output.fence / 1_000);
    const all = [sent, ...(mayRepeat(called, leasesEnd) ? earlierSendings(plan, called, one) : [])];
    return leasesEnd && !isUnknown ? [...all, ...all.flatMap(endsOf)] : all;
  });
}

/** Returns whether an earlier sending may have had another effect than the last one: it gets the same token, and so its reply. */
function mayRepeat({ call, return: end, input, output }: OnceOperation, leasesEnd: boolean): boolean {
  if (output === undefined || output.status === 'lost') return true;
  if (input.op === 'claim') return leasesEnd && end - call >= LEASE_MS - SLACK_MS;
  return input.op === 'first' && end - call >= RETENTION_MS - SLACK_MS;
}

function inputOf(
  { id, input, return: end }: OnceOperation,
  isUnknown: boolean,
  claims: Map<string, Recorded>,
): OnceInput {
  if (input.op === 'claim') return { op: 'claim', owner: isUnknown ? ANYBODY : id };
  if (input.op !== 'renew') return input;
  const claimedAt = claims.get(input.of)?.call ?? 0;
  return { ...input, isLate: end >= claimedAt + RETENTION_MS - LEASE_MS - SLACK_MS };
}

/** The ends of the lease and of the retention that an operation set, by Redis' clock. */
function endsOf({ id, call, return: end, input, output }: OnceOperation): OnceOperation[] {
  // The sendings of a claim, and of a call of `first`, have the same token.
  const of = input.op === 'claim' ? (input.owner ?? id) : input.op === 'first' ? (id.split('/')[0] as string) : id;
  const after = (op: 'expire' | 'forget', ms: number): OnceOperation => ({
    id: `${id}/${op}`,
    call: call + ms - SLACK_MS,
    return: end + ms + SLACK_MS,
    input: { op, of },
    output: { status: 'unknown' },
  });
  if (['lost', 'in-progress', 'done'].includes(output?.status ?? '') || output?.first === false) return [];
  if (input.op === 'claim') return [after('expire', LEASE_MS), after('forget', RETENTION_MS)];
  if (input.op === 'confirm' || input.op === 'first') return [after('forget', RETENTION_MS)];
  if (input.op !== 'renew') return [];
  return [after('expire', LEASE_MS), ...(input.isLate === true ? [after('forget', LEASE_MS)] : [])];
}

export const once: Subject = {
  name: 'once',
  flavours: FLAVOURS,
  scripts: onceScripts,
  open,
  operations,
  model: (plan) => new OnceModel({ leasesEnd: plan.flavour !== 'long', delivery: deliveryOf(plan) }),
};
