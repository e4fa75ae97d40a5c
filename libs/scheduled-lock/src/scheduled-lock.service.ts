import { Logger, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { LockLostError } from 'luanest/lock';
import type { ScriptRegistry } from 'luanest/script-registry';
import { disguise } from '../../internal/src';
import type { Job, JobMethod, Work } from './jobs/job';
import { JobRegistry } from './jobs/job-registry';
import { CatchUps } from './runs/catch-ups';
import { OutcomeLog } from './runs/outcome-log';
import { Ticks, type TickResult } from './runs/ticks';
import { ScheduledLockSetupError } from './scheduled-lock.errors';
import type { ResolvedScheduledLockModuleOptions } from './scheduled-lock.options';
import { readHistory } from './scheduled-lock.scripts';
import type { JobRecord, RunNowResult, ScheduledRun } from './scheduled-lock.types';

/** How a job was called by hand, and why runNow() suits that better, for a warning. */
interface ByHand {
  readonly how: string;
  readonly why: string;
}
const FIRED: ByHand = {
  how: 'fired by hand',
  why: 'to run a job by hand: it needs no scheduled time, and returns the outcome',
};
const CALLED: ByHand = { how: 'called directly', why: 'to get the outcome as a value' };

/** Runs jobs under their locks, and reports their outcomes. */
export class ScheduledLockService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly jobs = new JobRegistry();
  private readonly outcomes: OutcomeLog;
  private readonly ticks: Ticks;
  private readonly catchUps: CatchUps;
  private readonly logger = new Logger('ScheduledLock');

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedScheduledLockModuleOptions,
  ) {
    this.outcomes = new OutcomeLog(options, this.logger);
    this.ticks = new Ticks(registry, options, this.outcomes);
    this.catchUps = new CatchUps(this.ticks);
  }

  /** Names of all decorated jobs and handlers; known once the app is initialised. */
  get names(): readonly string[] {
    return this.jobs.names;
  }

  /** Returns the run that the caller is part of; undefined outside of a run. */
  current(): ScheduledRun | undefined {
    return this.ticks.current();
  }

  /**
   * Must be called right before an action that must not happen without the lock of a job.
   *
   * @throws LockLostError outside of a run, after the lease of the run has ended, and in a run without a lock
   */
  assertHeld(): void {
    const run = this.ticks.current();
    if (!run) throw new LockLostError('assertHeld() was called outside of a run of a job, so no lock is held.');
    run.assertHeld();
  }

  /**
   * Runs a job now, under its lock. The run counts for no scheduled time, so it does not replace a tick. If the job is running
   * already, it does not run a second time. A tick that comes during this run finds the lock held.
   *
   * @param name the option `name` of the job; without that option `Class.method`
   * @throws the error of the job; ScheduledLockSetupError for a handler, and for a job that this app does not have
   */
  async runNow(name: string): Promise<RunNowResult> {
    const found = this.jobs.named(name);
    if (found.job.kind.type === 'handler') {
      throw new ScheduledLockSetupError(
        `${name} is a handler of requests or messages, which runs when it is called. runNow() runs only scheduled jobs.`,
      );
    }
    return this.ticks.run(found.job, 'free', workOf(found)) as Promise<RunNowResult>;
  }

  /**
   * Returns the last outcomes of a job on all nodes, the newest first. Outcomes of this node that may not have been saved in Redis
   * are included, so an outcome may appear twice if the reply to its write was lost.
   *
   * @param name the option `name` of the job; without that option `Class.method`
   * @throws ScheduledLockSetupError for a job that this app does not have; the errors of ScriptRegistry.run()
   */
  async history(name: string): Promise<readonly JobRecord[]> {
    const { history } = this.jobs.named(name).job;
    const saved = await this.registry.run(readHistory, { keys: { history }, args: {} });
    const all = [...this.outcomes.unsavedOf(name), ...saved].sort(
      (one, other) => other.recordedAtMs - one.recordedAtMs,
    );
    return all.slice(0, this.options.historySize);
  }

  /** Adds a job. Called at boot. @throws ScheduledLockSetupError if another job has the same name */
  add(added: JobMethod): void {
    this.jobs.add(added);
    if (added.job.options.catchUpWithinMs > 0) this.catchUps.add(added.job, workOf(added));
  }

  /** Runs a call of a decorated method under its lock. Runs a handler without a lock, because the interceptor locks its requests. */
  async call(
    instance: object,
    method: string,
    original: (...args: unknown[]) => unknown,
    args: unknown[],
  ): Promise<unknown> {
    const job = this.jobs.find(instance, method);
    if (!job) {
      throw new ScheduledLockSetupError(
        `@ScheduledLock() on ${instance.constructor.name}.${method}: the method was called before the app was initialised (app.init() or app.listen()), or on an instance that Nest did not create.`,
      );
    }
    // An override that calls super, or a job that calls itself, is part of a run already.
    if (this.ticks.inside(job)) return original.apply(instance, args);
    const work = workOf({ instance, job, original }, args);
    if (job.kind.type === 'handler') return work();
    const byHand = job.kind.type === 'cron' && job.kind.live.firedByHand();
    return this.valueOf(job, await this.ticks.run(job, 'tick', work), byHand ? FIRED : undefined);
  }

  /** Runs a handler under its lock. Returns undefined if `@ScheduledLock` does not decorate the method. */
  handle(instance: object, method: string, work: Work): Promise<TickResult> | undefined {
    const job = this.jobs.find(instance, method);
    return job && this.ticks.run(job, 'free', work);
  }

  /**
   * Starts catch-ups. From now on, a direct call of a job's method is a run by hand. Calls of the scheduler are still ticks, because
   * it has kept the methods that the classes had before.
   */
  onApplicationBootstrap(): void {
    for (const found of this.jobs.all) if (found.job.kind.type !== 'handler') this.runOnCall(found);
    this.catchUps.start();
  }

  /** Refuses new runs, waits up to `drainMs` for running jobs, fires their signals, waits up to `abortGraceMs`, and releases their locks. */
  async beforeApplicationShutdown(): Promise<void> {
    this.catchUps.stop();
    await this.ticks.close();
  }

  private runOnCall({ instance, method, job, original }: JobMethod): void {
    const scheduled = Reflect.get(instance, method) as (...args: unknown[]) => unknown;
    const direct = async (...args: unknown[]): Promise<unknown> => {
      if (this.ticks.inside(job)) return scheduled.apply(instance, args);
      const result = await this.ticks.run(job, 'free', workOf({ instance, job, original }, args));
      return this.valueOf(job, result, CALLED);
    };
    Object.defineProperty(direct, 'length', { value: scheduled.length, configurable: true });
    const value = disguise(direct, scheduled, method);
    Object.defineProperty(instance, method, { value, writable: true, configurable: true });
  }

  /** Returns the value of the method; undefined if it did not run. @param byHand how the job was called, if not by the timer */
  private valueOf({ options: { name } }: Job, result: TickResult, byHand?: ByHand): unknown {
    if (result.ran) return result.value;
    if (byHand) {
      this.logger.warn(
        `Job ${name} was ${byHand.how} and did not run: its outcome is ${result.outcome}. ` +
          `Use ScheduledLockService.runNow('${name}') ${byHand.why}.`,
      );
    }
    return undefined;
  }
}

function workOf({ instance, job, original }: Omit<JobMethod, 'method'>, args: readonly unknown[] = []): Work {
  return () => (job.enhanced ? job.enhanced(...args) : original.apply(instance, [...args]));
}
