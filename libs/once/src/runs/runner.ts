import { afterEffect, isUnfinished, time } from '../../../internal/src';
import type { Claims } from '../once.claims';
import { OnceResultTooLargeError } from '../once.errors';
import { events } from '../once.events';
import type { Located } from '../once.targets';
import type { Claim, ClaimAnswer, Delivery, OnceRun, RunAnswer, RunOptions } from '../once.types';
import type { Run } from './run';
import type { Runs } from './runs';

const WORK_MAY_REPEAT = 'A later call with this id may run the work again.';

export interface Work<T> {
  readonly located: Located;
  readonly options: RunOptions;
  readonly body: (run: OnceRun) => T | PromiseLike<T>;
}

/** Runs work under a claim: claims an id, runs the work, and confirms or releases the id. */
export class Runner {
  constructor(
    private readonly claims: Claims,
    private readonly runs: Runs,
  ) {}

  // One async function, because with AsyncLocalStorage each promise costs more.
  /** Runs work, unless its id is done or in progress. @throws the errors of `OnceService.run` */
  async run<T>(work: Work<T>): Promise<RunAnswer<Awaited<T>>> {
    const { located, options, body } = work;
    let run: Run | undefined;
    this.runs.enter(work);
    try {
      const full = this.claims.fill(options);
      const { leaseMs, maxLeaseMs } = full;
      const claimedAt = time.monotonicMs();
      const claim = (await this.claims.take(located, full, options.token === undefined)) as ClaimAnswer;
      if (claim.status === 'in-progress') return claim;
      if (claim.status === 'done') {
        return { status: 'duplicate', result: claim.result as Awaited<T>, confirmed: claim.confirmed };
      }
      run = this.runs.begin(located.id, { claim, claimedAt, leaseMs, maxLeaseMs });
      let result: Awaited<T>;
      try {
        result = await this.runs.within<Awaited<T>>(run, body as (run: OnceRun) => PromiseLike<Awaited<T>>);
      } catch (error) {
        run.settle();
        await this.settleUnfinished(claim, full.delivery);
        throw error;
      }
      run.settle();
      if (isUnfinished(result)) {
        await this.settleUnfinished(claim, full.delivery);
        return { status: 'ran', result, confirmed: false };
      }
      const text = this.encodeOrNothing(result);
      try {
        const { status } = await this.claims.store.confirm(located.key, full.token, text, full);
        return { status: 'ran', result, confirmed: status === 'confirmed' };
      } catch (error) {
        throw afterEffect(error, 'The work of OnceService.run has run, but its id was not confirmed', WORK_MAY_REPEAT);
      }
    } finally {
      if (run !== undefined) this.runs.end(run);
      this.runs.leave(work);
    }
  }

  /**
   * Ends the claim of work that is not finished. If Redis fails, only publishes an event: the caller gets the work's own
   * outcome.
   */
  private async settleUnfinished(claim: Claim, delivery: Delivery): Promise<void> {
    try {
      await (delivery === 'at-most-once' ? claim.confirm() : claim.release());
    } catch (error) {
      events.settlementFailed.publish(() => ({ error }));
    }
  }

  /** Encodes a result. Returns '' if the result cannot be stored: the work is done, so its id must be confirmed anyway. */
  private encodeOrNothing(result: unknown): string {
    try {
      return this.claims.encode(result);
    } catch (error) {
      const reason = error instanceof OnceResultTooLargeError ? 'too-large' : 'not-json';
      events.resultDropped.publish(() => ({ reason }));
      return '';
    }
  }
}
