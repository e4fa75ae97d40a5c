import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { type ScriptRegistry, UnknownOutcomeError } from 'luanest/script-registry';
import type { Lease } from 'luanest/lock';
import type { Job } from './job';
import { runLease, type Ending } from './run-lease';
import { publishOutcome } from './scheduled-lock.events';
import type { ResolvedScheduledLockModuleOptions } from './scheduled-lock.options';
import { claimRun, completeRun, readHistory, type ClaimAnswer } from './scheduled-lock.scripts';
import { ScheduledLockSetupError } from './scheduled-lock.errors';
import type { JobOutcome, JobRecord, ScheduledRun } from './scheduled-lock.types';

type Work = () => unknown;
type Mode = 'tick' | 'catch-up' | 'free';

/** What became of a tick: the outcome, and what the method returned where it ran. */
export interface TickResult {
  readonly outcome: JobOutcome | 'nothing' | 'closed';
  readonly value?: unknown;
}

/** Runs jobs under their locks, and tells how they went. */
export class ScheduledLockService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly context = new AsyncLocalStorage<ScheduledRun>();
  private readonly jobs = new Map<string, Job>();
  private readonly byInstance = new WeakMap<object, Map<string, Job>>();
  private readonly local = new Map<string, JobRecord[]>();
  private readonly running = new Map<Lease, { readonly ending: Ending; readonly done: Promise<unknown> }>();
  private readonly unlocked = new Map<AbortController, Promise<unknown>>();
  private readonly claiming = new Set<Promise<unknown>>();
  private readonly catchUps: NodeJS.Timeout[] = [];
  private readonly tokens = randomBytes(9).toString('base64url');
  private runs = 0;
  private closed = false;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedScheduledLockModuleOptions,
  ) {}

  /** Names of all jobs that were found at boot. */
  get names(): readonly string[] {
    return [...this.jobs.keys()];
  }

  /** The lock of the run that this code belongs to; undefined outside of one. */
  current(): ScheduledRun | undefined {
    return this.context.getStore();
  }

  /**
   * The last outcomes of a job on all nodes, the newest first, and those that this node could not note in Redis.
   *
   * @param name as given to the decorator, or `Class.method`
   * @throws ScheduledLockSetupError for a job that this app does not have; errors of the registry
   */
  async history(name: string): Promise<readonly JobRecord[]> {
    const job = this.jobs.get(name);
    if (!job) throw new ScheduledLockSetupError(`There is no job ${name}. Known: ${this.names.join(', ') || 'none'}.`);
    const noted = await this.registry.run(readHistory, { keys: { history: job.history }, args: {} });
    const all = [...(this.local.get(name) ?? []), ...noted].sort((one, other) => other.atMs - one.atMs);
    return all.slice(0, this.options.historySize);
  }

  /** Called by the explorer at boot. @throws ScheduledLockSetupError when the name is taken */
  add(instance: object, method: string, job: Job): void {
    const { name } = job.options;
    if (this.jobs.has(name)) {
      throw new ScheduledLockSetupError(
        `${instance.constructor.name}.${method}: another job is named ${name} already. Give one of them another name.`,
      );
    }
    this.jobs.set(name, job);
    const methods = this.byInstance.get(instance) ?? new Map<string, Job>();
    this.byInstance.set(instance, methods.set(method, job));
  }

  /** Called by a decorated method. Handlers are locked by the interceptor instead. */
  async call(
    instance: object,
    method: string,
    original: (...args: unknown[]) => unknown,
    args: unknown[],
  ): Promise<unknown> {
    const job = this.byInstance.get(instance)?.get(method);
    if (!job) {
      throw new ScheduledLockSetupError(
        `${instance.constructor.name}.${method} was called before the app was initialised, or on an instance that Nest does not know.`,
      );
    }
    const work: Work = () => (job.enhanced ? job.enhanced(...args) : original.apply(instance, args));
    if (job.kind.type === 'handler') return work();
    return (await this.tick(job, 'tick', work)).value;
  }

  /** Called by the interceptor: runs a handler under its lock, or tells why not. */
  handle(instance: object, method: string, work: Work): Promise<TickResult> | undefined {
    const job = this.byInstance.get(instance)?.get(method);
    return job && this.tick(job, 'free', work);
  }

  /** Called by the explorer for jobs with `catchUpWithinMs`. */
  catchUp(job: Job, work: Work): void {
    const everyMs = Math.max(100, job.options.lockAtMostForMs / 2) * (0.75 + Math.random() / 2);
    this.catchUps.push(
      setInterval(() => void this.tick(job, 'catch-up', work).catch(() => undefined), everyMs).unref(),
    );
  }

  onApplicationBootstrap(): void {
    if (this.closed) this.stopTimers();
  }

  /** Lets no new run begin, awaits those that run up to `drainMs`, aborts them, and gives their locks back. */
  async beforeApplicationShutdown(): Promise<void> {
    this.closed = true;
    this.stopTimers();
    await this.settled(this.options.drainMs);
    const left = [...this.running.entries()];
    for (const [lease, { ending }] of left) {
      ending.outcome = 'lost';
      this.aborts.get(lease)?.abort(new Error('The app is shutting down.'));
    }
    for (const controller of this.unlocked.keys()) controller.abort(new Error('The app is shutting down.'));
    await this.settled(this.options.abortGraceMs);
    await Promise.all([...this.running.keys()].map((lease) => lease.release().catch(() => undefined)));
  }

  private readonly aborts = new WeakMap<Lease, AbortController>();

  private stopTimers(): void {
    for (const timer of this.catchUps) clearInterval(timer);
  }

  private async settled(ms: number): Promise<void> {
    const timeout = new AbortController();
    const all = (async () => {
      while (this.claiming.size > 0) await Promise.allSettled(this.claiming);
    })();
    await Promise.race([all, sleep(ms, undefined, { signal: timeout.signal }).catch(() => undefined)]);
    timeout.abort();
  }

  private async tick(job: Job, mode: Mode, work: Work): Promise<TickResult> {
    if (this.closed) return { outcome: 'closed' };
    const run = this.claimAndRun(job, mode, work);
    this.claiming.add(run);
    try {
      return await run;
    } finally {
      this.claiming.delete(run);
    }
  }

  private async claimAndRun(job: Job, mode: Mode, work: Work): Promise<TickResult> {
    const { options, kind, state, history } = job;
    const { node, retentionMs, historySize: keep, redisTimeoutMs: deadlineMs } = this.options;
    const owner = `${node}#${this.tokens}${this.runs++}`;
    const slot = kind.type === 'cron' ? kind.slotNow() : kind.type === 'timeout' ? 1 : 0;
    const periodMs = kind.type === 'interval' ? kind.periodMs : 0;
    const staleMs = mode === 'catch-up' ? options.catchUpWithinMs : kind.type === 'cron' ? options.staleAfterMs : 0;
    const args = { owner, node, mode, slot, periodMs, staleMs, leaseMs: options.lockAtMostForMs, retentionMs, keep };
    const sentAt = performance.now();
    let claim: ClaimAnswer;
    try {
      claim = await this.registry.run(claimRun, { keys: { state, history }, args }, { deadlineMs });
    } catch (error) {
      // The claim may still come to run; nobody would hold its lock.
      if (error instanceof UnknownOutcomeError) {
        const nothing = { outcome: 'lost', durationMs: 0, atLeastMs: 0, slot, fence: 0 };
        void this.registry
          .run(completeRun, { keys: { state, history }, args: { owner, node, retentionMs, keep, ...nothing } })
          .catch(() => undefined);
      }
      return this.withoutRedis(job, mode, slot, error, work);
    }
    if (claim.outcome !== 'ran') {
      if (claim.outcome !== 'nothing') this.tell(job, { ...claim, outcome: claim.outcome }, 0);
      return { outcome: claim.outcome };
    }
    return this.runClaimed(job, { owner, sentAt, slot: claim.slot, fence: claim.fence }, work);
  }

  private async runClaimed(
    job: Job,
    claim: { owner: string; sentAt: number; slot: number; fence: number },
    work: Work,
  ): Promise<TickResult> {
    const ending: Ending = { outcome: 'ran', durationMs: 0 };
    const lease = runLease(this.registry, this.options, job, claim, ending);
    const started = performance.now();
    const abort = new AbortController();
    this.aborts.set(lease, abort);
    const run: ScheduledRun = {
      name: job.options.name,
      slot: claim.slot,
      fence: claim.fence,
      get signal() {
        const { signal } = lease;
        if (signal.aborted) abort.abort(signal.reason);
        else signal.addEventListener('abort', () => abort.abort(signal.reason), { once: true });
        return abort.signal;
      },
      assertHeld: () => lease.assertHeld(),
    };
    const done = (async () => (lease.held ? await this.context.run(run, async () => await work()) : undefined))();
    this.running.set(lease, { ending, done });
    let failure: { error: unknown } | undefined;
    let value: unknown;
    try {
      value = await done;
    } catch (error) {
      failure = { error };
    }
    ending.durationMs = Math.round(performance.now() - started);
    const lost = !lease.held || abort.signal.aborted;
    ending.outcome = lost ? 'lost' : failure ? 'failed' : 'ran';
    const released = await lease.release().catch(() => 'unknown');
    this.running.delete(lease);
    const outcome = released === 'lost' ? 'lost' : ending.outcome;
    this.tell(job, { outcome, slot: claim.slot, fence: claim.fence }, ending.durationMs, failure?.error);
    if (failure) throw failure.error;
    return { outcome, value };
  }

  private async withoutRedis(job: Job, mode: Mode, slot: number, error: unknown, work: Work): Promise<TickResult> {
    if (mode === 'catch-up') return { outcome: 'nothing' };
    const record = this.tell(job, { outcome: 'redis-error', slot, fence: 0 }, 0, error);
    const kept = [record, ...(this.local.get(job.options.name) ?? [])];
    this.local.set(job.options.name, kept.slice(0, this.options.historySize));
    if (job.options.onRedisError === 'skip') return { outcome: 'redis-error' };
    const controller = new AbortController();
    const { signal } = controller;
    const run: ScheduledRun = {
      name: job.options.name,
      slot,
      fence: 0,
      signal,
      assertHeld: () => signal.throwIfAborted(),
    };
    const done = this.context.run(run, async () => await work());
    this.unlocked.set(controller, done);
    try {
      return { outcome: 'redis-error', value: await done };
    } finally {
      this.unlocked.delete(controller);
    }
  }

  private tell(
    job: Job,
    { outcome, slot, fence }: { outcome: JobOutcome; slot: number; fence: number },
    durationMs: number,
    error?: unknown,
  ): JobRecord {
    const record = { outcome, slot, fence, atMs: Date.now(), durationMs, node: this.options.node };
    publishOutcome(() => ({ name: job.options.name, ...record, ...(error === undefined ? {} : { error }) }));
    return record;
  }
}
