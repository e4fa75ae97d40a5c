import type { Bench, HistoryPlan, Subject } from '../subjects/subject';
import { makeStep, runClient, type Pace } from './client';
import { Connection, type Seed } from './connection';
import { Journal } from './journal';
import { randomOf } from './random';

export interface PlayerSettings {
  /** Port of Redis, or of a proxy in front of it. */
  readonly port: number;
  readonly prefix: string;
  /** Name of the process, unique in the run. */
  readonly name: string;
  readonly journal: string;
  readonly seeds?: readonly Seed[];
  /** False: the process only looks at keys, and does not run tasks. Default true. */
  readonly works?: boolean;
}

/** Histories that are recorded at the same time. */
export interface Batch extends Pace {
  readonly plans: readonly HistoryPlan[];
  /** Clients of each history in each process. */
  readonly clients: number;
  readonly seed: number;
}

interface Side {
  readonly connection: Connection;
  readonly benches: ReadonlyMap<string, Bench>;
}

/** The clients of one process: two connections, one that sends calls again and one that does not, each with all services. */
export class Player {
  private stopped = false;

  private constructor(
    private readonly journal: Journal,
    private readonly plain: Side,
    private readonly resend: Side,
  ) {}

  static async open(subjects: readonly Subject[], settings: PlayerSettings): Promise<Player> {
    const journal = new Journal(settings.journal, settings.name);
    const [plain, resend] = await Promise.all(
      [false, true].map((again) => openSide(subjects, settings, journal, again)),
    );
    return new Player(journal, plain as Side, resend as Side);
  }

  /** Makes what the histories need. */
  async prepare(plans: readonly HistoryPlan[]): Promise<void> {
    await Promise.all(plans.map(async (plan) => this.sideOf(plan).bench.prepare?.(plan)));
  }

  /** Resolves when all clients have made their calls, or after `stop`. */
  async run(batch: Batch): Promise<void> {
    this.stopped = false;
    const clients = batch.plans.flatMap((plan, index) =>
      Array.from({ length: batch.clients }, (_, n) => {
        const { bench, connection } = this.sideOf(plan);
        const random = randomOf(batch.seed + index * 101 + n);
        const client = { key: plan.key, name: `${this.journal.process}.${n}`, random };
        const sessionOf = () => bench.session(plan, random);
        return runClient(batch, client, sessionOf, this.journal, connection, () => this.stopped);
      }),
    );
    await Promise.all(clients);
  }

  stop(): void {
    this.stopped = true;
  }

  /** Makes the last operations of each history, one after the other. */
  async finish(plans: readonly HistoryPlan[]): Promise<void> {
    await Promise.all(
      plans.map(async (plan) => {
        const { bench, connection } = this.sideOf(plan);
        for (const step of bench.last(plan)) await makeStep(step, plan.key, 'last', this.journal, connection);
      }),
    );
  }

  close(): void {
    for (const { benches, connection } of [this.plain, this.resend]) {
      for (const bench of benches.values()) bench.close?.();
      connection.close();
    }
  }

  private sideOf({ subject, resend }: HistoryPlan): { readonly bench: Bench; readonly connection: Connection } {
    const { benches, connection } = resend ? this.resend : this.plain;
    return { bench: benches.get(subject) as Bench, connection };
  }
}

async function openSide(
  subjects: readonly Subject[],
  { port, prefix, seeds = [], works = true }: PlayerSettings,
  journal: Journal,
  resend: boolean,
): Promise<Side> {
  const scripts = subjects.flatMap((subject) => subject.scripts);
  const connection = await Connection.open({ port, prefix, resend, scripts, seeds });
  const context = { connection, journal, works, resend };
  const benches = await Promise.all(
    subjects.map(async (subject) => [subject.name, await subject.open(context)] as const),
  );
  return { connection, benches: new Map(benches) };
}
