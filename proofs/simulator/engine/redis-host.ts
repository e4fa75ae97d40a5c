import { MemoryRedis, type Snapshot } from '../../../libs/memory-redis/src';
import { RedisError, type Reply } from '../../../libs/memory-redis/src/reply';
import type { Session } from '../../../libs/memory-redis/src/session';
import { copyOfValue } from '../../../libs/memory-redis/src/values';
import type { Random } from './random';
import type { Scheduler } from './scheduler';

const EPOCH_US = 1_800_000_000_000_000;

/** Errors with which servers refuse a script before it runs, in their words. */
export const REFUSALS = {
  OOM: "OOM command not allowed when used memory > 'maxmemory'.",
  READONLY: "READONLY You can't write against a read only replica.",
  BUSY: 'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  LOADING: 'LOADING Redis is loading the dataset in memory',
  NOPERM: "NOPERM this user has no permissions to run the 'evalsha' command",
  NOREPLICAS: 'NOREPLICAS Not enough good replicas to write.',
  MASTERDOWN: "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
} as const;
export type Refusal = keyof typeof REFUSALS;

/** A change that an operator makes to a stream by hand. */
export const MEDDLINGS = ['DELCONSUMER', 'DELCONSUMER', 'DELCONSUMER', 'DESTROY', 'XDEL', 'XTRIM'] as const;
export type Meddling = (typeof MEDDLINGS)[number];

/** A Redis server of the simulation: the in-memory Redis, with a clock and faults. */
export class RedisHost {
  readonly memory: MemoryRedis;
  isDown = false;
  /** How many further scripts the server refuses, and with which error. */
  refusing: { error: Refusal; left: number } | undefined;
  /** Dies when it has run so many further scripts. */
  dying: { scripts: number; readonly die: () => void } | undefined;
  /** Failovers that have begun: the replica that will be promoted gets no more writes. So WAIT finds no replica. */
  failovers = 0;
  /** Called with each command. */
  ran: (process: string, words: readonly string[], reply: Reply) => void = () => undefined;
  private offsetUs = 0;
  private readonly closers = new Map<Session, () => void>();

  constructor(
    private readonly scheduler: Scheduler,
    private readonly random: Random,
  ) {
    this.memory = new MemoryRedis({ clock: { nowUs: () => EPOCH_US + this.offsetUs + scheduler.nowUs } });
  }

  /** Time of the server, ms since 1970. */
  get nowMs(): number {
    return (EPOCH_US + this.offsetUs + this.scheduler.nowUs) / 1_000;
  }

  moveClock(ms: number): void {
    this.offsetUs += ms * 1_000;
  }

  /** @param reset breaks the connection */
  open(send: (reply: Reply) => void, quit: () => void, reset: () => void): Session {
    const session = this.memory.server.open(send, quit);
    this.closers.set(session, reset);
    return session;
  }

  close(session: Session): void {
    if (this.closers.delete(session)) this.memory.server.forget(session);
  }

  get connections(): number {
    return this.closers.size;
  }

  execute(session: Session, words: string[], process: string): Reply {
    this.scheduler.steps++;
    const reply = this.refusalOf(words) ?? this.copiesOf(words) ?? this.memory.server.execute(session, words);
    this.ran(process, words, reply);
    const { dying } = this;
    if (dying && /^eval/i.test(words[0] ?? '') && --dying.scripts <= 0) {
      this.dying = undefined;
      dying.die();
    }
    return reply;
  }

  /** Breaks all connections. */
  resetAll(): void {
    for (const reset of [...this.closers.values()]) reset();
  }

  /** Returns to what a replica had. @param part only the keys of one hash tag, by chance: those of one master of several */
  failOver(kept: Snapshot, part: boolean): void {
    const { memory } = this;
    const { db } = memory.server;
    const tagOf = (key: string): string => /\{(.+?)\}/.exec(key)?.[1] ?? key;
    const tags = [...new Set(db.keys().map(tagOf))].sort();
    if (!part || tags.length < 2) return memory.restore(kept);
    const tag = this.random.pick(tags);
    const now = memory.snapshot();
    memory.restore(kept);
    const earlier = db
      .keys()
      .filter((key) => tagOf(key) === tag)
      .map((key) => ({ key, value: copyOfValue(db.get(key) as never), expiresAtMs: db.expiryOf(key) ?? undefined }));
    memory.restore(now);
    for (const key of db.keys()) if (tagOf(key) === tag) db.delete(key);
    for (const { key, value, expiresAtMs } of earlier) db.set(key, value, expiresAtMs);
  }

  /** Deletes a key by chance. @returns its name, or undefined if there is none */
  evict(onlyWithTtl: boolean): string | undefined {
    const keys = (this.memory.run('KEYS', ['*']) as string[]).sort();
    const some = keys.filter((key) => !onlyWithTtl || Number(this.memory.run('PTTL', [key])) > 0);
    if (some.length === 0) return undefined;
    const key = this.random.pick(some);
    this.memory.run('DEL', [key]);
    return key;
  }

  /** Changes a stream by chance, as an operator does by hand. @returns false if nothing has changed */
  meddle(act: Meddling): boolean {
    const run = (name: string, ...words: string[]): unknown => this.memory.run(name, words);
    const pick = (names: readonly string[]): string | undefined =>
      names.length === 0 ? undefined : this.random.pick(names);
    const stream = pick((run('KEYS', '*:stream') as string[]).sort());
    if (stream === undefined) return false;
    if (act === 'XTRIM') return Number(run('XTRIM', stream, 'MAXLEN', String(this.random.integer(0, 3)))) > 0;
    if (act === 'XDEL') {
      const [first] = run('XRANGE', stream, '-', '+', 'COUNT', '1') as [string, unknown][];
      return first !== undefined && run('XDEL', stream, first[0]) === 1;
    }
    const namesOf = (rows: unknown): string[] => (rows as string[][]).map(([, name = '']) => name);
    const group = pick(namesOf(run('XINFO', 'GROUPS', stream)));
    if (group === undefined) return false;
    if (act === 'DESTROY') return run('XGROUP', 'DESTROY', stream, group) === 1;
    const consumer = pick(namesOf(run('XINFO', 'CONSUMERS', stream, group)));
    return consumer !== undefined && Number(run('XGROUP', 'DELCONSUMER', stream, group, consumer)) > 0;
  }

  /** Reply to WAIT. The server has one replica, which is in step until a failover begins. */
  private copiesOf([name = '']: readonly string[]): number | undefined {
    return /^wait$/i.test(name) ? Number(this.failovers === 0) : undefined;
  }

  private refusalOf([name = '', body = '']: readonly string[]): RedisError | undefined {
    if (!this.refusing || !/^eval/i.test(name)) return undefined;
    const { error } = this.refusing;
    // The others depend on the flags of the script, so the server looks for it first.
    const isFirst = error === 'BUSY' || error === 'LOADING' || error === 'NOPERM';
    const isKnown =
      !/^evalsha/i.test(name) || Number((this.memory.run('SCRIPT', ['EXISTS', body]) as unknown[])[0]) === 1;
    if (!isFirst && !isKnown) return undefined;
    if (--this.refusing.left <= 0) this.refusing = undefined;
    return new RedisError(REFUSALS[error]);
  }
}
