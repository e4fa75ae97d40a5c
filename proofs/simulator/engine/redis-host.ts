import { createHash } from 'node:crypto';
import { slotOf } from '../../../libs/internal/src';
import { MemoryRedis, type Snapshot } from '../../../libs/memory-redis/src';
import { canonicalText } from '../../../libs/memory-redis/src/canonical';
import { Server } from '../../../libs/memory-redis/src/server';
import { copyOfValue } from '../../../libs/memory-redis/src/values';
import type { Random } from './random';
import { RedisNode } from './redis-node';
import type { Scheduler } from './scheduler';
import { type Shard, Slots } from './slots';

const EPOCH_US = 1_800_000_000_000_000;
/** A fault does not last until what ends later than this, us. */
const SOON_US = 20_000_000;

/** A change that an operator makes to a stream by hand. */
export const MEDDLINGS = ['DELCONSUMER', 'DELCONSUMER', 'DELCONSUMER', 'DESTROY', 'XDEL', 'XTRIM'] as const;
export type Meddling = (typeof MEDDLINGS)[number];

/** The Redis of a run: one server, or the nodes of a Cluster. All of them have the same keys, see Slots. One clock is that of all of them. */
export class RedisHost {
  /** The keys. Models read them here, also those of a Cluster. */
  readonly memory: MemoryRedis;
  readonly nodes: readonly RedisNode[];
  /** Undefined for one server. */
  readonly slots: Slots | undefined;
  private offsetUs = 0;

  /** @param masters number of masters of a Cluster; 1: one server */
  constructor(
    private readonly scheduler: Scheduler,
    private readonly random: Random,
    private readonly masters: number,
  ) {
    const clock = { nowUs: () => EPOCH_US + this.offsetUs + scheduler.nowUs };
    this.memory = new MemoryRedis({ clock });
    const { server } = this.memory;
    if (masters === 1) {
      this.nodes = [new RedisNode(6_379, server, scheduler, undefined)];
      return;
    }
    const slots = new Slots(server.db, scheduler);
    const nodeAt = (port: number): RedisNode => new RedisNode(port, new Server(clock, server.db), scheduler, slots);
    for (let at = 0; at < masters; at++) slots.shards.push({ master: nodeAt(7_000 + at), replica: nodeAt(7_100 + at) });
    this.slots = slots;
    this.nodes = slots.shards.flatMap(({ master, replica }) => [master, replica]);
  }

  /** Time of the servers, ms since 1970. */
  get nowMs(): number {
    return (EPOCH_US + this.offsetUs + this.scheduler.nowUs) / 1_000;
  }

  get addresses(): { host: string; port: number }[] {
    return this.nodes.map(({ port }) => ({ host: '127.0.0.1', port }));
  }

  get connections(): number {
    return this.nodes.reduce((sum, { connections }) => sum + connections, 0);
  }

  at(port: number): RedisNode {
    const node = this.nodes.find((one) => one.port === port);
    if (node === undefined) throw new Error(`No server listens at port ${port}.`);
    return node;
  }

  /** @param index any integer from 0 */
  master(index: number): RedisNode {
    return this.slots?.shards[index % this.masters]?.master ?? (this.nodes[0] as RedisNode);
  }

  moveClock(ms: number): void {
    this.offsetUs += ms * 1_000;
  }

  /**
   * Returns when something ends or begins by what Redis has stored, such as the end of a lease, or the due time of a task: true times, us,
   * sorted. Such times are in ms, and have 13 digits. Other numbers may come directly before or after them.
   */
  endsAfter(us: number): number[] {
    const { db } = this.memory.server;
    const texts = db.keys().map((key) => canonicalText(db.get(key) as never));
    const rows = texts.flatMap((text) => [...text.matchAll(/\d{13,}/g)].map(([digits]) => digits));
    const times = rows.flatMap((digits) => [digits.slice(0, 13), digits.slice(-13)]);
    const ends = times.map((ms) => Number(ms) * 1_000 - EPOCH_US - this.offsetUs);
    const soonUs = us + SOON_US;
    return [...new Set(ends)].filter((end) => end > us && end < soonUs).sort((a, b) => a - b);
  }

  /** Begins to move the slot of a key that is there, by chance, to another master. @returns false if nothing moves */
  reshard(forMs: number): boolean {
    const key = this.anyKey();
    if (this.slots === undefined || key === undefined) return false;
    return this.slots.move(slotOf(key), this.random.integer(0, this.masters - 1), forMs);
  }

  /**
   * A master dies with what its replica does not have. @param part only the keys of one hash tag, by chance: those of one master of several
   *
   * @returns promotes the replica
   */
  failOver(index: number, kept: Snapshot, part: boolean): () => void {
    const { slots } = this;
    if (slots !== undefined) {
      const shard = slots.shards[index % this.masters] as Shard;
      this.goBack(kept, (key) => slots.shards[slots.shardOfKey(key)] === shard);
      return () => slots.promote(shard);
    }
    const { db } = this.memory.server;
    const tags = [...new Set(db.keys().map(tagOf))].sort();
    const tag = part && tags.length > 1 ? this.random.pick(tags) : undefined;
    this.goBack(kept, (key) => tag === undefined || tagOf(key) === tag);
    return () => undefined;
  }

  /** Returns a hash of all keys, their values and their times of expiry. */
  hash(): string {
    const { db } = this.memory.server;
    const rows = db.keys().map((key) => [key, db.expiryOf(key), canonicalText(db.get(key) as never)]);
    return createHash('sha1').update(JSON.stringify(rows.sort())).digest('hex').slice(0, 16);
  }

  /** Returns some keys to what they were in a snapshot. */
  private goBack(kept: Snapshot, isLost: (key: string) => boolean): void {
    const { memory } = this;
    const { db } = memory.server;
    const now = memory.snapshot();
    memory.restore(kept);
    const earlier = db
      .keys()
      .filter(isLost)
      .map((key) => ({ key, value: copyOfValue(db.get(key) as never), expiresAtMs: db.expiryOf(key) ?? undefined }));
    memory.restore(now);
    for (const key of db.keys()) if (isLost(key)) db.delete(key);
    for (const { key, value, expiresAtMs } of earlier) db.set(key, value, expiresAtMs);
  }

  private anyKey(): string | undefined {
    const keys = (this.memory.run('KEYS', ['*']) as string[]).sort();
    return keys.length === 0 ? undefined : this.random.pick(keys);
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
}

function tagOf(key: string): string {
  return /\{(.+?)\}/.exec(key)?.[1] ?? key;
}
