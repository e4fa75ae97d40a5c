import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ScriptRegistry } from 'luanest/script-registry';
import { homeOf, keysOf, type BucketKeys, type Layout, type Layouts } from '../buckets/layout';
import type { Refills } from '../buckets/refills';
import type { RedPacketServiceOptions } from '../red-packet.options';
import type { GrabResult, NotOpenReason } from '../red-packet.types';
import { GRAB_MODE, grabPacket, type BucketAnswer } from './grab.scripts';
import type { Losers } from './sold-out-users';

/** Between two looks for packets that are under way to another bucket, or rest in it. */
const PAUSE_MS = 15;
const UNCONFIRMED_RETRY_MS = 100;

type Settings = Pick<RedPacketServiceOptions, 'confirmReplicas' | 'confirmTimeoutMs' | 'transferWaitMs'>;
/** What ends a grab. */
type LastAnswer = Exclude<BucketAnswer, { outcome: 'spread' }>;
/** A bucket's answer, and whether as many replicas have it as were asked for. */
interface Heard {
  readonly answer: BucketAnswer;
  readonly confirmed: boolean;
}

const SOLD_OUT: GrabResult = Object.freeze({ code: '-1', outcome: 'sold-out', reason: 'sold-out' });
const TRANSFERRING: GrabResult = Object.freeze({
  code: '-3',
  outcome: 'try-again',
  reason: 'transferring',
  retryAfterMs: PAUSE_MS,
});
const UNCONFIRMED: GrabResult = Object.freeze({
  code: '2',
  outcome: 'unconfirmed',
  reason: 'replicas',
  retryAfterMs: UNCONFIRMED_RETRY_MS,
});

/** Takes a user's grab to his bucket and through what may come of it. */
export class Grabber {
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly layouts: Layouts,
    private readonly refills: Refills,
    private readonly losers: Losers,
    private readonly settings: Settings,
  ) {}

  /** The answer of the process itself, where it needs none of Redis. */
  known(activityId: string, userId: string): GrabResult | undefined {
    return this.losers.has(activityId, userId) ? SOLD_OUT : undefined;
  }

  /** Asks the user's bucket. */
  grab(activityId: string, userId: string): Promise<GrabResult> {
    const layout = this.layouts.of(activityId);
    const { buckets } = layout;
    // One bucket and no replicas to wait for is the usual case, and one promise less.
    if (buckets.length > 1 || this.settings.confirmReplicas > 0) return this.follow(layout, userId);
    const input = { keys: buckets[0] as BucketKeys, args: { userId, mode: 0 } };
    return this.registry.run(grabPacket, input).then((answer) => {
      if (answer.outcome === 'won' || answer.outcome === 'already-won') return answer;
      // The root of an activity that is spread knows where its buckets are.
      if (answer.outcome === 'spread') return this.follow(this.layouts.learn(activityId, answer.buckets), userId);
      return this.conclude(layout, answer, true);
    });
  }

  /** Asks until there is an answer: the first one may say where the user's bucket is, or that it waits for packets. */
  private async follow(first: Layout, userId: string): Promise<GrabResult> {
    const deadline = performance.now() + this.settings.transferWaitMs;
    let layout = first;
    let [mode, doubted] = [0, false];
    for (;;) {
      const { answer, confirmed } = await this.ask(layout, userId, mode);
      const single = layout.buckets.length === 1;
      if (answer.outcome === 'spread') {
        layout = this.layouts.learn(layout.activityId, answer.buckets);
      } else if (answer.outcome === 'shut' && answer.reason === 'unknown' && !single && !doubted) {
        // An activity of this id, with another number of buckets, may have taken the place of the one that was learned.
        doubted = true;
        this.layouts.forget(layout.activityId);
        layout = this.layouts.of(layout.activityId);
      } else if (answer.outcome === 'empty') {
        mode = GRAB_MODE.goesOn;
        const ended = await this.await(layout, userId, deadline);
        if (ended !== undefined) return this.conclude(layout, ended, true);
      } else {
        return this.conclude(layout, answer, confirmed);
      }
    }
  }

  /** Waits until it is worth asking an empty bucket again. Answers what ends the grab. */
  private async await(layout: Layout, userId: string, deadline: number): Promise<LastAnswer | undefined> {
    const refilled = await this.refills.refill(layout, homeOf(layout, userId));
    if (refilled === 'sold-out') return { outcome: 'none-left' };
    const left = deadline - performance.now();
    if (left <= 0) return { outcome: 'empty' };
    if (refilled === 'nothing') await sleep(Math.min(PAUSE_MS, left));
    return undefined;
  }

  private async ask(layout: Layout, userId: string, mode: number): Promise<Heard> {
    const { confirmReplicas: replicas, confirmTimeoutMs: timeoutMs } = this.settings;
    const keys = keysOf(layout, homeOf(layout, userId));
    if (replicas === 0) {
      return { answer: await this.registry.run(grabPacket, { keys, args: { userId, mode } }), confirmed: true };
    }
    const input = { keys, args: { userId, mode: mode + GRAB_MODE.confirmed } };
    const waited = await this.registry.runAndWait(grabPacket, input, { replicas, timeoutMs });
    return { answer: waited.result, confirmed: waited.replicas >= replicas };
  }

  private conclude(layout: Layout, answer: LastAnswer, confirmed: boolean): GrabResult {
    switch (answer.outcome) {
      case 'won':
      case 'already-won':
        return confirmed ? answer : UNCONFIRMED;
      case 'none-left':
        this.losers.learn(layout);
        return SOLD_OUT;
      case 'empty':
        return TRANSFERRING;
      case 'tries-used-up':
        return { code: '-4', outcome: 'too-many-tries', reason: 'too-many-tries' };
      case 'shut':
        return notOpen(answer.reason, answer.changesInMs);
    }
  }
}

function notOpen(reason: NotOpenReason, changesInMs: number): GrabResult {
  const refusal = { code: '-2', outcome: 'not-open', reason } as const;
  return changesInMs > 0 ? { ...refusal, retryAfterMs: changesInMs } : refusal;
}
