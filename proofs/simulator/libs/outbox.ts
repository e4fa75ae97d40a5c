import type { ModuleMetadata } from '@nestjs/common';
import type * as Tasks from '../../../libs/delayed-task/src';
import type * as Outbox from '../../../libs/outbox/src';
import type * as Streams from '../../../libs/stream-consumer/src';
import { MOST_DRIFT, type Fault } from '../engine/plan';
import type { Process } from '../engine/process';
import type { Member } from '../engine/member';
import type { Lib, Model, World } from '../engine/world';
import { OutboxTables } from './outbox-database';

interface Settings {
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly batch: number;
  readonly drainMs: number;
  readonly keys: number;
  /** One of so many statements meets a connection of the database that breaks; 0: none. */
  readonly breaksEvery: number;
}

interface Operation {
  readonly kind: 'write' | 'look';
  /** The row that the transaction writes: a key for a message, a delay for a task. */
  readonly rows: readonly { readonly key?: string; readonly delayMs?: number }[];
  readonly workMs: number;
  /** True: the transaction of the app fails after it has written. */
  readonly fails: boolean;
  readonly wakes: boolean;
}

/** A task or a message that a transaction has written. */
interface Written {
  readonly n: number;
  readonly key: string | undefined;
  readonly delayMs: number;
  readonly beganUs: number;
  /** When the database got the row at the earliest. */
  readonly writtenUs: number;
  /** When the database committed it. */
  committedUs: number;
  begun: number;
  done: number;
  /** Ids under which handlers got it. */
  readonly ids: Set<string>;
}

interface Payload {
  readonly n: number;
}

class Rollback extends Error {}

/** Checks the promises of the README of outbox. */
class OutboxModel implements Model<Operation> {
  private readonly tables: OutboxTables;
  private readonly written: Written[] = [];
  /** Tasks by their ids. */
  private readonly tasks = new Map<string, Written>();
  private readonly ended = new Set<Process>();
  private lostKeys = false;

  constructor(
    private readonly world: World,
    private readonly options: Settings,
  ) {
    this.tables = new OutboxTables(world, options.breaksEvery);
    this.tables.changes = (member, process) => {
      world.expect(!this.ended.has(process), () => `${member.name} has closed, and changes rows`);
    };
    this.tables.commits = (payload) => {
      const row = this.written[(JSON.parse(payload) as Payload).n - 1] as Written;
      world.note('database', () => `commits ${row.n}`);
      row.committedUs = world.nowUs;
    };
  }

  app(member: Member): ModuleMetadata {
    const { OutboxModule, OutboxEvents } = this.lib(member);
    const { DelayedTaskModule, DelayedTaskEvents } = member.load<typeof Tasks>('luanest/delayed-task');
    const { StreamConsumerModule } = member.load<typeof Streams>('luanest/stream-consumer');
    const { leaseMs, pollMs, batch, drainMs, breaksEvery } = this.options;
    member.process.channel(OutboxEvents.callFailed).subscribe((event) => {
      const { during, error } = event as Outbox.OutboxEvents['callFailed'];
      const isRight = !this.world.isCalm || (during === 'round' && breaksEvery > 0);
      this.world.expect(isRight, () => `nothing is wrong, but a call failed: ${during}, ${String(error)}`);
    });
    member.process.channel(OutboxEvents.rowFailed).subscribe((event) => {
      this.world.violate(`a row is set aside: ${JSON.stringify(event)}`);
    });
    member.process.channel(DelayedTaskEvents.attemptSettled).subscribe((event) => {
      const { id, status } = event as Tasks.DelayedTaskEvents['attemptSettled'];
      if (status === 'done') this.taskIsDone(id);
    });
    const work = { leaseMs, attempts: 1_000, drainMs: 500, abortGraceMs: 100, backoff: { delayMs: 50 } };
    return {
      imports: [
        DelayedTaskModule.forRoot(work),
        StreamConsumerModule.forRoot(work),
        OutboxModule.forRoot({ database: this.tables.of(member), pollMs, batch, drainMs }),
      ],
      providers: [this.handlers(member)],
    };
  }

  disturbed({ kind }: Fault): void {
    // "What no replica had is lost: a task that was sent, or the memory of it"; "an evicted key lets a row be sent twice".
    this.lostKeys ||= kind === 'failover' || kind === 'evict';
  }

  async perform(member: Member, operation: Operation): Promise<void> {
    if (operation.kind === 'write') return this.write(member, operation);
    const service = this.serviceOf(member);
    await this.tables
      .of(member)
      .transaction((query) => service.stats(query))
      .catch(isOfDatabase);
  }

  /** "After that it sends nothing and changes no row." */
  hasClosed({ process }: Member): void {
    this.ended.add(process);
  }

  left(): number {
    return this.tables.rows.size + this.unhandled().length;
  }

  settled(): void {
    const { world, tables } = this;
    world.expect(tables.rows.size === 0, () => `${tables.rows.size} rows are never sent`);
    if (this.lostKeys) return;
    for (const { n, done } of this.unhandled()) world.violate(`${n} was committed, and is handled ${done} times`);
  }

  lives(key: string): boolean {
    // Those of streams are checked with their lib.
    return key.includes(':stream-consumer:') || /:(due|leased|dead|tasks|runs|lines|heads)$/.test(key);
  }

  private lib(member: Member): typeof Outbox {
    return member.load<typeof Outbox>('luanest/outbox');
  }

  private serviceOf(member: Member): Outbox.OutboxService {
    return member.app?.get(this.lib(member).OutboxService) as Outbox.OutboxService;
  }

  private handlers(member: Member) {
    const { DelayedTask } = member.load<typeof Tasks>('luanest/delayed-task');
    const { StreamConsumer } = member.load<typeof Streams>('luanest/stream-consumer');
    const begins = (payload: Payload, id: string): Promise<void> => this.handle(member, payload, id);
    const handled = ({ n }: Payload): void => void ((this.written[n - 1] as Written).done += 1);
    class Handlers {
      @DelayedTask('work')
      task(payload: Payload, { id }: Tasks.TaskContext): Promise<void> {
        return begins(payload, id);
      }

      @StreamConsumer({ stream: 's', group: 'g', ordered: true })
      async message({ payload, id }: Streams.StreamMessage<Payload>): Promise<void> {
        await begins(payload, id);
        handled(payload);
      }
    }
    return Handlers;
  }

  private async write(member: Member, { rows, workMs, fails, wakes }: Operation): Promise<void> {
    const { world } = this;
    const service = this.serviceOf(member);
    const some: Written[] = [];
    const outcome = await this.tables
      .of(member)
      .transaction(async (query) => {
        for (const { key, delayMs } of rows) {
          const one = this.newRow(key, delayMs ?? 0);
          some.push(one);
          const payload = { n: one.n };
          if (delayMs === undefined) await service.publish(query, 's', payload, key === undefined ? {} : { key });
          else this.tasks.set((await service.schedule(query, 'work', payload, { delayMs })).taskId, one);
        }
        await member.sleep(workMs);
        if (fails) throw new Rollback('the app fails');
      })
      .then(
        () => 'committed' as const,
        (error: unknown) => (error instanceof Rollback ? 'rolled-back' : isOfDatabase(error)),
      );
    world.note(member.name, () => `the transaction of ${some.map(({ n }) => n).join()} is ${outcome}`);
    if (wakes && outcome === 'committed') service.wake();
  }

  /** "It happens if, and only if, the transaction commits." */
  private async handle(member: Member, { n }: Payload, id: string): Promise<void> {
    const { world } = this;
    const row = this.written[n - 1] as Written;
    world.note(member.name, () => `${n} (${id}) begins`);
    row.begun++;
    row.ids.add(id);
    world.expect(row.committedUs < Infinity, () => `${n} happens, and its transaction has not committed`);
    world.expect(row.ids.size === 1 || this.lostKeys, () => `${n} was sent ${row.ids.size} times`);
    // "A task is never early", also if the clock of the database and that of Redis differ.
    const earlyMs = row.delayMs - (world.nowUs - row.writtenUs) / 1_000;
    const driftMs = world.had.has('drift') ? (row.delayMs * MOST_DRIFT) / 100 : 0;
    // Redis' time is rounded down to whole ms.
    world.expect(earlyMs < 1 + driftMs, () => `${n} begins ${earlyMs} ms early`);
    // "Messages of a stream with one key are sent in the order of their rows."
    const before = this.written.find(
      (other) => other.key === row.key && other.committedUs < row.beganUs && other.begun === 0,
    );
    const isInOrder = row.key === undefined || before === undefined || this.lostKeys;
    world.expect(isInOrder, () => `${n} of ${row.key} begins before ${before?.n}`);
    await member.sleep(1);
  }

  private taskIsDone(id: string): void {
    const row = this.tasks.get(id);
    if (row === undefined) return;
    row.done += 1;
    this.world.expect(row.done === 1 || this.lostKeys, () => `${row.n} (${id}) is done twice`);
  }

  /** Rows of transactions that were committed, and whose task or message no handler has had. */
  private unhandled(): Written[] {
    return this.lostKeys ? [] : this.written.filter((row) => row.committedUs < Infinity && row.begun === 0);
  }

  private newRow(key: string | undefined, delayMs: number): Written {
    const { nowUs } = this.world;
    const one: Written = {
      ...{ n: this.written.length + 1, key, delayMs, beganUs: nowUs, writtenUs: nowUs },
      ...{ committedUs: Infinity, begun: 0, done: 0, ids: new Set<string>() },
    };
    this.written.push(one);
    return one;
  }
}

/** Returns `unknown` for an error of the simulated database. Any other error is thrown again. */
function isOfDatabase(error: unknown): 'unknown' {
  if (error instanceof Error && error.message.startsWith('Connection terminated')) return 'unknown';
  throw error;
}

export const outbox: Lib<Settings, Operation> = {
  name: 'outbox',
  faults: {
    kill: 8,
    close: 5,
    stop: 8,
    cut: 20,
    slow: 6,
    hold: 10,
    refuse: 6,
    flush: 4,
    evict: 1,
    clock: 4,
    failover: 1,
    'redis-down': 4,
  },
  together: [['kill'], ['kill'], ['cut'], ['cut', 'kill'], ['redis-down'], ['stop', 'cut'], ['hold', 'close']],
  settings: (random) => ({
    leaseMs: random.magnitude(200, 2_000),
    pollMs: random.magnitude(10, 500),
    batch: random.magnitude(1, 20),
    drainMs: random.magnitude(10, 2_000),
    keys: random.integer(1, 4),
    breaksEvery: random.chance(0.5) ? 0 : random.magnitude(5, 200),
  }),
  operation: (random, { leaseMs, keys }) => ({
    kind: random.chance(0.95) ? 'write' : 'look',
    rows: Array.from({ length: random.pick([1, 1, 1, 2, 3, 5]) }, () => {
      if (random.chance(0.5)) return { delayMs: random.chance(0.5) ? 0 : random.magnitude(1, 2 * leaseMs) };
      return random.chance(0.8) ? { key: `k${random.integer(1, keys)}` } : {};
    }),
    workMs: random.chance(0.7) ? 1 : random.magnitude(1, leaseMs),
    fails: random.chance(0.2),
    wakes: random.chance(0.5),
  }),
  scaleMs: ({ leaseMs }) => leaseMs,
  settleMs: ({ leaseMs }) => 10 * leaseMs + 40_000,
  start: (world, settings) => new OutboxModel(world, settings),
};
