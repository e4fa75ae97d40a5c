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

  /** Names of all jobs that were found at boot. */
  get names(): readonly string[] {
    return this.jobs.names;
  }

  /** Returns the run that the caller is part of; undefined outside of a run. */
  current(): ScheduledRun | undefined {
    return this.ticks.current();
  }

  /**
   * To be called right before an action that must not happen without the lock of a job.
   *
   * @throws LockLostError outside of a run, after the lease of the run, and in a run without a lock
   */
  assertHeld(): void {
    const run = this.ticks.current();
    if (!run) throw new LockLostError('No job runs here, so no lock is held.');
    run.assertHeld();
  }

  /**
   * Runs a job now, under its lock and without a slot. Its next tick runs as scheduled. A tick that comes during the run is
   * skipped, and the other way round.
   *
   * @param name as given to the decorator, or `Class.method`
   * @throws the error of the job; ScheduledLockSetupError for a handler, and for a job that this app does not have
   */
  async runNow(name: string): Promise<RunNowResult> {
    const found = this.jobs.named(name);
    if (found.job.kind.type === 'handler') {
      throw new ScheduledLockSetupError(
        `${name} is a handler, and runs when it is called. runNow() runs only scheduled jobs.`,
      );
    }
    return this.ticks.run(found.job, 'free', workOf(found)) as Promise<RunNowResult>;
  }

  /**
   * Returns the last outcomes of a job on all nodes, the newest first, and those that this node could not save in Redis.
   *
   * @param name as given to the decorator, or `Class.method`
   * @throws ScheduledLockSetupError for a job that this app does not have; errors of ScriptRegistry.run()
   */
  async history(name: string): Promise<readonly JobRecord[]> {
    const { history } = this.jobs.named(name).job;
    const saved = await this.registry.run(readHistory, { keys: { history }, args: {} });
    const all = [...this.outcomes.unsavedOf(name), ...saved].sort(
      (one, other) => other.recordedAtMs - one.recordedAtMs,
    );
    return all.slice(0, this.options.historySize);
  }

  /** Called by the explorer at boot. @throws ScheduledLockSetupError if another job has the name */
  add(added: JobMethod): void {
    this.jobs.add(added);
    if (added.job.options.catchUpWithinMs > 0) this.catchUps.add(added.job, workOf(added));
  }

  /** Called by the method that the scheduler calls. Handlers are locked by the interceptor instead. */
  async call(
    instance: object,
    method: string,
    original: (...args: unknown[]) => unknown,
    args: unknown[],
  ): Promise<unknown> {
    const job = this.jobs.find(instance, method);
    if (!job) {
      throw new ScheduledLockSetupError(
        `@ScheduledLock() on ${instance.constructor.name}.${method}: the method was called before app.init() or app.listen(), or on an instance that Nest did not create.`,
      );
    }
    // An override that calls super, or a job that calls itself, already has the lock.
    if (this.ticks.inside(job)) return original.apply(instance, args);
    const work = workOf({ instance, job, original }, args);
    if (job.kind.type === 'handler') return work();
    const byHand = job.kind.type === 'cron' && job.kind.live.firedByHand();
    return this.valueOf(job, await this.ticks.run(job, 'tick', work), byHand ? 'fired by hand' : undefined);
  }

  /** Called by the interceptor. Returns undefined if `@ScheduledLock` does not decorate the method. */
  handle(instance: object, method: string, work: Work): Promise<TickResult> | undefined {
    const job = this.jobs.find(instance, method);
    return job && this.ticks.run(job, 'free', work);
  }

  /** Starts catch-ups. From now on a direct call runs the job now: the scheduler took its methods from the classes before. */
  onApplicationBootstrap(): void {
    for (const found of this.jobs.all) if (found.job.kind.type !== 'handler') this.runOnCall(found);
    this.catchUps.start();
  }

  /** Refuses new runs, waits up to `drainMs` for those in flight, aborts them, and releases their locks. */
  async beforeApplicationShutdown(): Promise<void> {
    this.catchUps.stop();
    await this.ticks.close();
  }

  private runOnCall({ instance, method, job, original }: JobMethod): void {
    const scheduled = Reflect.get(instance, method) as (...args: unknown[]) => unknown;
    const direct = async (...args: unknown[]): Promise<unknown> => {
      if (this.ticks.inside(job)) return scheduled.apply(instance, args);
      const result = await this.ticks.run(job, 'free', workOf({ instance, job, original }, args));
      return this.valueOf(job, result, 'called directly');
    };
    Object.defineProperty(direct, 'length', { value: scheduled.length, configurable: true });
    const value = disguise(direct, scheduled, method);
    Object.defineProperty(instance, method, { value, writable: true, configurable: true });
  }

  /** @param byHand how the job was called, if not by the scheduler */
  private valueOf({ options: { name } }: Job, result: TickResult, byHand?: string): unknown {
    if (result.ran) return result.value;
    if (byHand !== undefined) {
      this.logger.warn(
        `Job ${name} was ${byHand} and did not run: ${result.outcome}. ` +
          `ScheduledLockService.runNow('${name}') runs it now and returns what happened.`,
      );
    }
    return undefined;
  }
}

function workOf({ instance, job, original }: Omit<JobMethod, 'method'>, args: readonly unknown[] = []): Work {
  return () => (job.enhanced ? job.enhanced(...args) : original.apply(instance, [...args]));
}
