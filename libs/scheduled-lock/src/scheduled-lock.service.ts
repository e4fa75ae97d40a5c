import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { ScriptRegistry } from 'luanest/script-registry';
import type { Job, Work } from './jobs/job';
import { JobBook } from './jobs/job-book';
import { CatchUps } from './runs/catch-ups';
import { Outcomes } from './runs/outcomes';
import { Ticks, type TickResult } from './runs/ticks';
import { ScheduledLockSetupError } from './scheduled-lock.errors';
import type { ResolvedScheduledLockModuleOptions } from './scheduled-lock.options';
import { readHistory } from './scheduled-lock.scripts';
import type { JobRecord, ScheduledRun } from './scheduled-lock.types';

/** Runs jobs under their locks, and tells how they went. */
export class ScheduledLockService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly jobs = new JobBook();
  private readonly outcomes: Outcomes;
  private readonly ticks: Ticks;
  private readonly catchUps: CatchUps;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedScheduledLockModuleOptions,
  ) {
    this.outcomes = new Outcomes(options);
    this.ticks = new Ticks(registry, options, this.outcomes);
    this.catchUps = new CatchUps(this.ticks);
  }

  /** Names of all jobs that were found at boot. */
  get names(): readonly string[] {
    return this.jobs.names;
  }

  /** The lock of the run that this code belongs to; undefined outside of one. */
  current(): ScheduledRun | undefined {
    return this.ticks.current();
  }

  /**
   * The last outcomes of a job on all nodes, the newest first, and those that this node could not note in Redis.
   *
   * @param name as given to the decorator, or `Class.method`
   * @throws ScheduledLockSetupError for a job that this app does not have; errors of the registry
   */
  async history(name: string): Promise<readonly JobRecord[]> {
    const { history } = this.jobs.named(name);
    const noted = await this.registry.run(readHistory, { keys: { history }, args: {} });
    const all = [...this.outcomes.unnotedOf(name), ...noted].sort((one, other) => other.atMs - one.atMs);
    return all.slice(0, this.options.historySize);
  }

  /**
   * Called by the explorer at boot.
   *
   * @param work what a catch-up runs
   * @throws ScheduledLockSetupError when the name is taken
   */
  add(instance: object, method: string, job: Job, work: Work): void {
    this.jobs.add(instance, method, job);
    if (job.options.catchUpWithinMs > 0) this.catchUps.add(job, work);
  }

  /** Called by a decorated method. Handlers are locked by the interceptor instead. */
  async call(
    instance: object,
    method: string,
    original: (...args: unknown[]) => unknown,
    args: unknown[],
  ): Promise<unknown> {
    const job = this.jobs.find(instance, method);
    if (!job) {
      throw new ScheduledLockSetupError(
        `@ScheduledLock() on ${instance.constructor.name}.${method}: it was called before app.init() or app.listen(), or on an instance that Nest does not know.`,
      );
    }
    // An override that calls super, or a job that calls itself, has the lock already.
    if (this.ticks.inside(job)) return original.apply(instance, args);
    const work: Work = () => (job.enhanced ? job.enhanced(...args) : original.apply(instance, args));
    if (job.kind.type === 'handler') return work();
    const result = await this.ticks.run(job, 'tick', work);
    return result.ran ? result.value : undefined;
  }

  /** Called by the interceptor; undefined when the method does not carry the decorator. */
  handle(instance: object, method: string, work: Work): Promise<TickResult> | undefined {
    const job = this.jobs.find(instance, method);
    return job && this.ticks.run(job, 'free', work);
  }

  /** Lets jobs run. */
  onApplicationBootstrap(): void {
    this.catchUps.start();
  }

  /** Lets no run begin, awaits those that run up to `drainMs`, aborts them, and gives their locks back. */
  async beforeApplicationShutdown(): Promise<void> {
    this.catchUps.stop();
    await this.ticks.close();
  }
}
