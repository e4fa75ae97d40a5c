import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { byKey } from '../checker/history';
import { subjectOf } from '../subjects';
import type { HistoryPlan } from '../subjects/subject';
import { playFaults, type FaultKind } from './faults';
import { JournalReader, nowMs, type Recorded } from './journal';
import { Player, type Batch } from './player';
import type { Random } from './random';
import { WorkerProcess } from './worker-process';

export interface RigSettings {
  readonly subjects: readonly string[];
  /** Worker processes at a time. */
  readonly workers: number;
}

const PREFIX = 'histories';
/** Longest time of a batch after its last round, ms: what paused processes still have to do. */
const LATEST_MS = 15_000;

/** A real Redis, worker processes that record histories, and the faults between them. */
export class Rig {
  private started = 0;
  private readonly journals: JournalReader[] = [];
  private workers: WorkerProcess[] = [];
  private spare: Promise<WorkerProcess> | undefined;

  private constructor(
    private readonly settings: RigSettings,
    readonly redis: RedisServer,
    private readonly folder: string,
    /** This process: prepares the histories, and makes their last operations, without faults. */
    private readonly observer: Player,
  ) {}

  static async open(settings: RigSettings): Promise<Rig> {
    const redis = await startRedis();
    const folder = mkdtempSync(join(tmpdir(), 'luanest-histories-'));
    const journal = join(folder, 'observer');
    const observer = await Player.open(settings.subjects.map(subjectOf), {
      port: redis.port,
      prefix: PREFIX,
      name: 'observer',
      journal,
      works: false,
    });
    const rig = new Rig(settings, redis, folder, observer);
    rig.journals.push(new JournalReader(journal));
    rig.workers = await Promise.all(Array.from({ length: settings.workers }, () => rig.start()));
    return rig;
  }

  /**
   * Records histories side by side, with faults.
   *
   * @param faulted called for each fault
   * @returns what was recorded, by key
   */
  async record(
    batch: Omit<Batch, 'startAt'>,
    faults: readonly FaultKind[],
    random: Random,
    faulted: (kind: FaultKind) => void,
  ): Promise<Map<string, Recorded[]>> {
    this.spare ??= this.start();
    await Promise.all([this.observer.prepare(batch.plans), this.spare]);
    const paced: Batch = { ...batch, startAt: nowMs() + 30 };
    const running = new Set<Promise<void>>();
    const run = (worker: WorkerProcess, seed: number): void => {
      const ran = worker.run({ ...paced, seed }).finally(() => running.delete(ran));
      running.add(ran);
    };
    this.workers.forEach((worker, n) => run(worker, batch.seed + 7_919 * n));
    const target = {
      redis: this.redis,
      workers: this.workers,
      replace: async (at: number): Promise<void> => {
        await this.workers[at]?.kill();
        const next = await (this.spare ?? this.start());
        this.workers[at] = next;
        this.spare = this.start();
        run(next, batch.seed + 104_729);
      },
    };
    await playFaults(target, { faults, overMs: batch.rounds * batch.roundMs, random, faulted });
    const stop = setTimeout(() => this.workers.forEach((worker) => worker.stop()), LATEST_MS);
    while (running.size > 0) await Promise.all(running);
    clearTimeout(stop);
    await sleep(50);
    await this.observer.finish(batch.plans);
    await sleep(30);
    return this.collect(batch.plans);
  }

  async close(): Promise<void> {
    const spare = await this.spare;
    await Promise.all([...this.workers, ...(spare === undefined ? [] : [spare])].map((worker) => worker.kill()));
    this.observer.close();
    await this.redis.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async start(): Promise<WorkerProcess> {
    const name = `w${this.started++}`;
    const journal = join(this.folder, name);
    this.journals.push(new JournalReader(journal));
    return WorkerProcess.open(this.redis, this.settings.subjects, { prefix: PREFIX, name, journal });
  }

  /** Reads the journals of this batch, also of processes that were killed. */
  private collect(plans: readonly HistoryPlan[]): Map<string, Recorded[]> {
    const keys = new Set(plans.map(({ key }) => key));
    const all = this.journals.flatMap((journal) => journal.read());
    return byKey(all.filter(({ key }) => keys.has(key)));
  }
}
