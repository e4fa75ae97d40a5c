import type { OutboxModuleOptions, SqlQuery } from '../../../libs/outbox/src';
import type { Member } from '../engine/member';
import type { Process } from '../engine/process';
import type { Random } from '../engine/random';
import type { World } from '../engine/world';

/** A row of the table, as the statements of the outbox write it. Times are ms of the database, with fractions. */
interface Row {
  readonly seq: number;
  readonly id: string;
  readonly kind: string;
  readonly target: string;
  readonly payload: string;
  readonly options: string;
  readonly createdAt: number;
  firstSentAt: number | undefined;
  failedAt: number | undefined;
  error: string | undefined;
}

type Texts = Record<string, string | null>;

/** A transaction that has not ended. */
interface Transaction {
  readonly process: Process;
  readonly beganAt: number;
  /** Rows that the transaction has written and not committed, by their number; undefined for a row that it deletes. */
  readonly writes: Map<number, Row | undefined>;
  state: 'open' | 'committed' | 'rolled-back';
  /** When PostgreSQL ends it if it runs no statement. */
  idleUntil: number;
}

const EPOCH_MS = 1_700_000_000_000;
const MICROSECOND = 0.001;
/** As `idle_in_transaction_session_timeout`, which the outbox sets. */
const IDLE_MS = 60_000;

/**
 * A PostgreSQL with one table, for the statements that the outbox sends: transactions at READ COMMITTED. A transaction sees what others have
 * committed and what it has written itself. A write of a row that another one has written waits for the end of that one, and then looks at
 * the row again. The lock of the table ends with its transaction. Connections break: then a transaction is rolled back, but for one that
 * has just committed.
 */
export class OutboxTables {
  /** Committed rows. */
  readonly rows = new Map<number, Row>();
  /** Called when a process sends a statement that changes rows. */
  changes: (member: Member, process: Process) => void = () => undefined;
  /** Called with each row that a transaction commits. */
  commits: (payload: string) => void = () => undefined;
  private readonly open = new Set<Transaction>();
  private locked: Transaction | undefined;
  private lastSeq = 0;
  private readonly random: Random;

  /** @param breaksEvery one of so many statements meets a connection that breaks; 0: none */
  constructor(
    private readonly world: World,
    private readonly breaksEvery: number,
  ) {
    this.random = world.random.named('database');
  }

  /** Returns the database as the app of a process uses it, with a pool that is large enough. */
  of(member: Member): OutboxModuleOptions['database'] {
    const { process } = member;
    return {
      transaction: async <T>(work: (query: SqlQuery) => Promise<T>): Promise<T> => {
        const tx = await this.call(process, undefined, () => this.begin(process));
        try {
          const result = await work((text, params) => {
            const sql = text.replace(/\s+/g, ' ').trim();
            if (/^(DELETE|UPDATE|WITH)/.test(sql)) this.changes(member, process);
            return this.call(process, tx, () => this.run(tx, sql, params));
          });
          await this.call(process, tx, () => this.commit(tx));
          return result;
        } catch (error) {
          await this.call(process, tx, () => this.rollBack(tx)).catch(() => undefined);
          throw error;
        }
      },
    };
  }

  private get nowMs(): number {
    return EPOCH_MS + this.world.scheduler.nowUs / 1_000;
  }

  /** Sends a statement, which takes a moment there and back. @param run returns undefined if it must wait */
  private call<T>(process: Process, tx: Transaction | undefined, run: () => T | undefined): Promise<T> {
    const { scheduler } = this.world;
    return new Promise<T>((resolve, reject) => {
      const reply = (settle: () => void): void =>
        process.receive(scheduler.nowUs + this.random.magnitude(20, 1_000), settle);
      const breaks = this.breaksEvery > 0 && !this.world.isHealed && this.random.chance(1 / this.breaksEvery);
      const arrive = (): void => {
        this.endAbandoned();
        if (tx !== undefined && tx.state === 'rolled-back')
          return reply(() => reject(new Error('Connection terminated')));
        // The connection breaks before the server gets the statement, or before the client gets the reply.
        const isBefore = breaks && this.random.chance(0.5);
        try {
          const result = isBefore ? undefined : run();
          if (result === undefined && !isBefore) return scheduler.at(scheduler.nowUs + 500, arrive);
          if (!breaks) return reply(() => resolve(result as T));
          if (tx?.state === 'open') this.rollBack(tx);
          reply(() => reject(new Error('Connection terminated unexpectedly')));
        } catch (error) {
          if (tx?.state === 'open') this.rollBack(tx);
          const reason = error instanceof Error ? error : new Error(String(error));
          reply(() => reject(reason));
        }
      };
      scheduler.at(process.nowUs + this.random.magnitude(20, 1_000), arrive);
    });
  }

  /** Rolls back what processes that died had open, and what has been idle for too long. */
  private endAbandoned(): void {
    for (const tx of this.open) if (tx.process.isDead || tx.idleUntil <= this.nowMs) this.rollBack(tx);
  }

  private begin(process: Process): Transaction {
    const tx: Transaction = { process, beganAt: this.nowMs, writes: new Map(), state: 'open', idleUntil: Infinity };
    this.open.add(tx);
    return tx;
  }

  private commit(tx: Transaction): true {
    for (const [seq, row] of tx.writes) {
      if (row === undefined) this.rows.delete(seq);
      else {
        if (!this.rows.has(seq)) this.commits(row.payload);
        this.rows.set(seq, row);
      }
    }
    tx.state = 'committed';
    return this.end(tx);
  }

  private rollBack(tx: Transaction): true {
    if (tx.state === 'open') tx.state = 'rolled-back';
    return this.end(tx);
  }

  private end(tx: Transaction): true {
    this.open.delete(tx);
    if (this.locked === tx) this.locked = undefined;
    return true;
  }

  private visible(tx: Transaction): Row[] {
    const rows = new Map<number, Row | undefined>([...this.rows, ...tx.writes]);
    return [...rows.values()].filter((row) => row !== undefined).sort((a, b) => a.seq - b.seq);
  }

  /** Changes rows. @returns undefined if another transaction has written one of them, and has not ended */
  private change(tx: Transaction, some: readonly Row[], changed: (row: Row) => Row | undefined): true | undefined {
    const others = [...this.open].filter((other) => other !== tx);
    if (some.some(({ seq }) => others.some(({ writes }) => writes.has(seq)))) return undefined;
    for (const row of some) tx.writes.set(row.seq, changed(row));
    return true;
  }

  private run(tx: Transaction, sql: string, params: readonly string[]): { rows: Texts[] } | undefined {
    if (sql.includes('idle_in_transaction_session_timeout')) tx.idleUntil = 0;
    if (tx.idleUntil < Infinity) tx.idleUntil = this.nowMs + IDLE_MS;
    const [first = '', second = ''] = params;
    const nothing = { rows: [] };
    const waiting = (): Row[] => this.visible(tx).filter(({ failedAt }) => failedAt === undefined);
    const isPaused = ({ kind, target }: Row): boolean => (JSON.parse(first) as string[]).includes(`${kind}:${target}`);
    const isListed = ({ seq }: Row): boolean => (JSON.parse(first) as string[]).includes(String(seq));
    const done = (isDone: true | undefined): { rows: Texts[] } | undefined => isDone && nothing;
    if (sql.startsWith('INSERT INTO')) return this.insert(tx, params);
    if (sql.startsWith('SELECT CASE WHEN EXISTS')) {
      if (waiting().every(isPaused)) return { rows: [{ locked: null }] };
      const isFree = this.locked === undefined;
      if (isFree) this.locked = tx;
      return { rows: [{ locked: String(isFree) }] };
    }
    if (sql.startsWith('SELECT set_config')) return nothing;
    if (sql.startsWith('WITH batch AS')) {
      const batch = waiting()
        .filter((row) => !isPaused(row))
        .slice(0, Number(second));
      const marked = ({ ...row }: Row): Row => ({
        ...row,
        firstSentAt: row.firstSentAt === undefined ? tx.beganAt : row.firstSentAt - MICROSECOND,
      });
      return this.change(tx, batch, marked) && { rows: batch.map((row) => this.marked(tx, row)) };
    }
    if (sql.startsWith('DELETE FROM')) return done(this.change(tx, this.visible(tx).filter(isListed), () => undefined));
    if (sql.includes('json_to_recordset')) {
      const failed = JSON.parse(first) as { seq: string; error: string }[];
      const errors = new Map(failed.map(({ seq, error }) => [Number(seq), error]));
      const some = this.visible(tx).filter(({ seq }) => errors.has(seq));
      return done(this.change(tx, some, (row) => ({ ...row, failedAt: this.nowMs, error: errors.get(row.seq) })));
    }
    if (sql.includes('SET first_sent_at = NULL WHERE seq IN')) {
      const isOwn = (row: Row): boolean => isListed(row) && row.firstSentAt === Number(second);
      return done(this.change(tx, this.visible(tx).filter(isOwn), (row) => ({ ...row, firstSentAt: undefined })));
    }
    if (sql.includes('AS oldest_ms')) return { rows: [this.stats(tx)] };
    throw new Error(`The simulated database does not know this statement: ${sql}`);
  }

  private insert(tx: Transaction, [id = '', kind = '', target = '', payload = '', options = '']: readonly string[]) {
    const seq = ++this.lastSeq;
    const row = { seq, id, kind, target, payload, options, createdAt: this.nowMs };
    tx.writes.set(seq, { ...row, firstSentAt: undefined, failedAt: undefined, error: undefined });
    return { rows: [] };
  }

  private marked(tx: Transaction, { seq, id, kind, target, payload, options, createdAt, firstSentAt }: Row): Texts {
    const times = {
      mark: String(tx.beganAt),
      age_ms: String(Math.floor(this.nowMs - createdAt)),
      sent_ms: firstSentAt === undefined ? null : String(Math.floor(tx.beganAt - firstSentAt)),
    };
    return { seq: String(seq), id, kind, target, payload, options, ...times };
  }

  private stats(tx: Transaction): Texts {
    const rows = this.visible(tx);
    const failed = rows.filter(({ failedAt }) => failedAt !== undefined);
    const undecided = failed.filter(({ error }) => error?.startsWith('UNDECIDED:'));
    const waiting = rows.filter(({ failedAt }) => failedAt === undefined);
    const oldest = Math.min(...waiting.map(({ createdAt }) => createdAt));
    return {
      waiting: String(waiting.length),
      oldest_ms: waiting.length === 0 ? null : String(Math.floor(this.nowMs - oldest)),
      failed: String(failed.length - undecided.length),
      undecided: String(undecided.length),
    };
  }
}
