import {
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import type { ScriptRegistry } from 'luanest/script-registry';
import { CONSOLE, disguise, draining, LostError, SetupError, time } from '../../internal/src';
import { whyNotRun } from './handlers/refusals';
import { nextSlotOf, type Job, type JobMethod, type Work } from './jobs/job';
import { JobRegistry } from './jobs/job-registry';
import { CatchUps } from './runs/catch-ups';
import { OutcomeLog } from './runs/outcome-log';
import { Ticks, type TickResult } from './runs/ticks';
import type { JobsConsole } from './scheduled-lock.console';
import type { ResolvedScheduledLockModuleOptions } from './scheduled-lock.options';
import { lookAtJob, readHistory } from './scheduled-lock.scripts';
import type { JobRecord, RunNowResult, ScheduledCallOptions, ScheduledRun } from './scheduled-lock.types';

/** Parts of a warning: how the app has called a job by hand, and why runNow() is better. */
interface ByHand {
  readonly how: string;
  readonly why: string;
}
const FIRED: ByHand = {
  how: 'fired by hand',
  why: 'to run a job by hand: it needs no scheduled time, and returns the status',
};
const CALLED: ByHand = { how: 'called directly', why: 'to get the status as a value' };

/** Runs jobs under their locks, and reports the results. */
export class ScheduledLockService implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  /** Name of this class for `luanest/console`. A bundler may shorten the name of the class itself. */
  static readonly [CONSOLE] = 'ScheduledLockService';

  private readonly outcomes: OutcomeLog;
  private readonly ticks: Ticks;
  private readonly catchUps: CatchUps;
  private readonly logger = new Logger('ScheduledLock');
  private closing: Promise<void> | undefined;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedScheduledLockModuleOptions,
    private readonly jobs = new JobRegistry(),
  ) {
    this.outcomes = new OutcomeLog(options, this.logger, registry);
    this.ticks = new Ticks(registry, options, this.outcomes);
    this.catchUps = new CatchUps(this.ticks);
  }

  /** Names of all jobs and handlers with `@ScheduledLock`. Empty until the app is initialised. */
  get names(): readonly string[] {
    return this.jobs.names;
  }

  /** Returns the run that the calling code belongs to; undefined outside of a run. */
  current(): ScheduledRun | undefined {
    return this.ticks.current();
  }

  /**
   * Checks that the lock of the current run is held. Call it right before an action that must not happen without this lock.
   *
   * @throws LostError outside of a run, after the lease of the run has ended, and in a run without a lock
   */
  assertHeld(): void {
    const run = this.ticks.current();
    if (!run)
      throw new LostError(
        'ScheduledLockService.assertHeld() was called outside of a run of a job, so no lock is held. Call it in a method with @ScheduledLock().',
      );
    run.assertHeld();
  }

  /**
   * Runs a job now, under its lock, in addition to its scheduled runs. If another run holds the lock, the job does not run. If the call to
   * Redis fails, the option `onRedisError` decides. A scheduled run that is due meanwhile finds the lock held.
   *
   * @param name the option `name` of the job; without that option `Class.method`
   * @throws the error of the job; SetupError for a handler, and for a job that this app does not have
   *
   * @example
   * ```ts
   * const result = await jobs.runNow('report');
   * if (!result.ran) throw new Error(`The report did not run: ${result.status}`);
   * ```
   */
  async runNow(name: string): Promise<RunNowResult> {
    const found = this.jobs.named(name);
    if (found.job.kind.type === 'handler') {
      throw new SetupError(
        `ScheduledLockService.runNow: ${name} is a handler of requests or messages, and runNow() runs only scheduled jobs. Send it a ` +
          'request or a message instead.',
      );
    }
    return this.ticks.run(found.job, 'free', workOf(found)) as Promise<RunNowResult>;
  }

  /**
   * Runs a function under the lock of a job. Methods with `@ScheduledLock` and ScheduledLockInterceptor call it. Inside a run of the same
   * job, `work` becomes part of that run.
   *
   * @param name the option `name` of the job or of the handler; without that option `Class.method`
   * @param work function that is called if the job may run now
   * @param options `tick`: true if the call counts as the run of the current scheduled time; default false: an extra run
   * @throws the error of `work`; SetupError for a job that this app does not have, and with `tick` for a cron job while the
   *   SchedulerRegistry has no cron job
   */
  async run(name: string, work: () => unknown, { tick = false }: ScheduledCallOptions = {}): Promise<RunNowResult> {
    const { job } = this.jobs.named(name);
    if (this.ticks.inside(job)) return { ran: true, status: 'ran', value: await work() };
    const byHand = tick && job.kind.type === 'cron' && job.kind.live.firedByHand();
    const result = await this.ticks.run(job, tick ? 'tick' : 'free', work);
    if (byHand) this.warnUnlessRan(job, result, FIRED);
    return result as RunNowResult;
  }

  /**
   * Returns the last results of a job on all nodes, the newest first. Results of this node that Redis may not have stored are included, so
   * a result whose reply was lost may appear twice.
   *
   * @param name the option `name` of the job; without that option `Class.method`
   * @throws SetupError for a job that this app does not have; the errors of ScriptRegistry.run()
   */
  async history(name: string): Promise<readonly JobRecord[]> {
    const { history } = this.jobs.named(name).job;
    const saved = await this.registry.run(readHistory, { keys: { history }, args: {} });
    const all = [...this.outcomes.unsavedOf(name), ...saved].sort(
      (one, other) => other.recordedAtMs - one.recordedAtMs,
    );
    return all.slice(0, this.options.historySize);
  }

  /** Returns functions for `luanest/console`. */
  [CONSOLE](): JobsConsole {
    const { registry } = this;
    const read = async (keys: { readonly state: string; readonly history: string }, entries: number) => {
      const { owner, ...found } = await registry.run(lookAtJob, { keys, args: { entries } });
      return { ...found, node: owner.slice(0, Math.max(0, owner.lastIndexOf('#'))) };
    };
    return {
      registry,
      tagOf: (name) => `${this.options.namespace}:${name}`,
      look: async (name, records) => {
        const { kind, state, history } = this.jobs.named(name).job;
        const found = await read({ state, history }, records);
        return { ...found, kind: kind.type, nextAtMs: nextSlotOf(kind, time.nowMs()) };
      },
      lookAt: async (tag, records) => {
        const keys = registry.keySpace('scheduled-lock').tag(tag);
        const found = await read({ state: keys.key('state'), history: keys.key('history') }, records);
        return { ...found, kind: 'other', nextAtMs: undefined };
      },
    };
  }

  /**
   * Starts the checks for lost runs (`catchUpWithinMs`). Also replaces the method of each scheduled job, so that code which calls it starts
   * a run by hand. The scheduler still calls the old method, which makes a scheduled run.
   */
  onApplicationBootstrap(): void {
    for (const found of this.jobs.all) {
      if (found.job.kind.type !== 'handler') this.runOnCall(found);
      if (found.job.options.catchUpWithinMs > 0) this.catchUps.add(found.job, workOf(found));
    }
    this.catchUps.start();
  }

  /**
   * Begins the shutdown: refuses new runs, waits up to `drainMs` for running jobs, aborts their AbortSignals, waits up to `abortGraceMs`,
   * and releases their locks. `beforeApplicationShutdown` waits for all this.
   */
  onModuleDestroy(): void {
    if (this.closing !== undefined) return;
    this.catchUps.stop();
    this.closing = draining(this.ticks.close());
  }

  /** Waits for the end of the shutdown that `onModuleDestroy` has begun. */
  beforeApplicationShutdown(): Promise<void> | undefined {
    this.onModuleDestroy();
    return this.closing;
  }

  private runOnCall({ instance, method, job, original }: JobMethod): void {
    const scheduled = Reflect.get(instance, method) as (...args: unknown[]) => unknown;
    const direct = async (...args: unknown[]): Promise<unknown> => {
      if (this.ticks.inside(job)) return scheduled.apply(instance, args);
      const result = await this.ticks.run(job, 'free', workOf({ instance, original }, args));
      this.warnUnlessRan(job, result, CALLED);
      return result.ran ? result.value : undefined;
    };
    Object.defineProperty(direct, 'length', { value: scheduled.length, configurable: true });
    const value = disguise(direct, scheduled, method);
    Object.defineProperty(instance, method, { value, writable: true, configurable: true });
  }

  private warnUnlessRan({ options: { name } }: Job, result: TickResult, { how, why }: ByHand): void {
    if (result.ran) return;
    const call = `Job ${name} was ${how} and did not run`;
    if (result.status === 'closed') this.logger.warn(`${call}, because the app is shutting down.`);
    else {
      const remedy = `Use ScheduledLockService.runNow('${name}') ${why}.`;
      this.logger.warn(`${call}, because ${whyNotRun(result.status)} (status ${result.status}). ${remedy}`);
    }
  }
}

function workOf({ instance, original }: Omit<JobMethod, 'method' | 'job'>, args: readonly unknown[] = []): Work {
  return () => original.apply(instance, [...args]);
}
