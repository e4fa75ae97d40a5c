import {
  acknowledge,
  finish,
  leaveGroup,
  repairGroup,
  openGroup,
  renewSession,
  retryEntry,
  sweepSessions,
  takeEntries,
  takeForeign,
  takeForeignOrdered,
  takeOrdered,
  tidyNotes,
} from '../src/consumer/consumer.scripts';
import {
  announcePartitions,
  listDead,
  listDeadForeign,
  listGroups,
  purgeStream,
  readStats,
  removeGroup,
  replayRange,
  withdrawGroup,
} from '../src/streams/streams.scripts';
import type { GroupKeys } from '../src/streams/partitions';
import type { TakeAnswer, TakenEntry } from '../src/consumer/consumer.scripts';
import type { Bench } from './support';

/** Works a group of one partition by hand, a script at a time. */
export class Hands {
  readonly keys: GroupKeys;
  private readonly begun = new Set<string>();

  constructor(
    private readonly bench: Bench,
    private readonly stream: string,
    private readonly group: string,
    private readonly ordered: boolean,
    private readonly leaseMs = 600_000,
    private readonly foreign = false,
  ) {
    this.keys = bench.keys(stream, group);
  }

  /** Publishes 0, 1, 2 and so on; answers the ids of their entries, in their order in the stream. */
  async publish(count: number, key?: string): Promise<string[]> {
    const ids: string[] = [];
    for (let payload = 0; payload < count; payload++) {
      // One after the other: messages in flight together may change places when a Cluster redirects them.
      const result = await this.bench.streams.publish(this.stream, payload, key === undefined ? {} : { key });
      ids.push(result.status === 'published' ? result.id.slice(2) : '');
    }
    return ids;
  }

  async ids(): Promise<string[]> {
    return (await this.bench.raw.xrange(this.keys.stream, '-', '+')).map(([id]) => id);
  }

  /** Which consumer has each pending entry. */
  async owners(): Promise<Map<string, string>> {
    const rows = (await this.bench.raw.xpending(this.keys.stream, this.group, '-', '+', 10_000)) as [string, string][];
    return new Map(
      rows.filter(([, owner]) => owner !== 'waiting' && !owner.startsWith('parked ')).map(([id, owner]) => [id, owner]),
    );
  }

  async open(): Promise<boolean> {
    const args = { group: this.group, makes: 1, from: '0' };
    return (await this.bench.registry.run(openGroup, { keys: this.keys, args })).state === 'made';
  }

  async take(session: string, token: string, count: number): Promise<TakeAnswer> {
    const begins = this.begun.has(session) ? 0 : 1;
    const { group, leaseMs } = this;
    const args = { group, session, token, count, leaseMs, begins };
    const [plain, ordered] = this.foreign ? [takeForeign, takeForeignOrdered] : [takeEntries, takeOrdered];
    const { registry } = this.bench;
    const answer = this.ordered
      ? await registry.run(ordered, { keys: this.keys, args: { ...args, maxKeys: 1_000 } })
      : await registry.run(plain, { keys: this.keys, args });
    if (answer.entries.length > 0) this.begun.add(session);
    return answer;
  }

  ack(session: string, entries: readonly TakenEntry[]): Promise<boolean> {
    const args = { group: this.group, session, needs: '', ids: entries.map(({ id }) => id) };
    return this.bench.registry.run(acknowledge, { keys: { ...this.keys, needed: [] }, args });
  }

  finish(
    session: string,
    entries: readonly TakenEntry[],
    problem: string,
  ): Promise<{ alive: boolean; released: number; buried: number }> {
    const rows = entries.flatMap(({ id, key, attempt, firstSeenMs }) => [
      id,
      key,
      problem,
      String(attempt),
      String(firstSeenMs),
    ]);
    const args = { group: this.group, session, needs: '', rows };
    return this.bench.registry.run(finish, { keys: { ...this.keys, needed: [] }, args });
  }

  retry(
    session: string,
    { id, attempt, returned, firstSeenMs }: TakenEntry,
    delayMs: number,
    counted = 1,
    problem = 'broken',
  ): Promise<boolean> {
    const args = { group: this.group, session, id, attempt, returned, counted, firstSeenMs, delayMs, problem };
    return this.bench.registry.run(retryEntry, { keys: this.keys, args });
  }

  renew(session: string): Promise<boolean> {
    return this.bench.registry.run(renewSession, { keys: this.keys, args: { session, leaseMs: this.leaseMs } });
  }

  async expire(session: string): Promise<void> {
    await this.bench.raw.zadd(this.keys.sessions, 'XX', '1', session);
  }

  sweep(count = 100): Promise<{ taken: number; more: boolean; session: string }> {
    return this.bench.registry.run(sweepSessions, {
      keys: this.keys,
      args: { group: this.group, count, problem: 'died' },
    });
  }

  repair(): Promise<{ repaired: number }> {
    const from = { pending: '0-0', waiting: '-', parked: '', unsettled: '0' };
    const args = { group: this.group, leaseMs: 0, count: 500, ...from, session: '', taken: 0, held: [] };
    return this.bench.registry.run(repairGroup, { keys: this.keys, args });
  }

  tidy(): Promise<unknown> {
    const args = { group: this.group, count: 500, triesAfter: '0', headsAfter: '0' };
    return this.bench.registry.run(tidyNotes, { keys: this.keys, args });
  }

  /** Entries that wait behind another one of their key. */
  async parked(): Promise<string[]> {
    const rows = (await this.bench.raw.xpending(this.keys.stream, this.group, '-', '+', 10_000)) as [string, string][];
    return rows.filter(([, owner]) => owner.startsWith('parked ')).map(([id]) => id);
  }

  leave(session: string): Promise<boolean> {
    return this.bench.registry.run(leaveGroup, { keys: this.keys, args: { group: this.group, session } });
  }

  remove(): Promise<boolean> {
    return this.bench.registry.run(removeGroup, { keys: this.keys, args: { group: this.group } });
  }

  purge(limits: object = {}): Promise<{ deleted: number; next: { after: string; passed: number } }> {
    const args = { after: '-', passed: 0, size: 100, needs: '', count: 0, bytes: -1, ageMs: -1, ...limits };
    return this.bench.registry.run(purgeStream, { keys: { ...this.keys, needed: [] }, args });
  }

  replayRange(): Promise<{ state: string; replayed: number }> {
    const operation = this.keys.stream.replace(/stream$/, 'operation:range');
    const args = { group: this.group, after: '0-0', until: '9999999999999-0', size: 100, limit: 100, retainMs: 60_000 };
    return this.bench.registry.run(replayRange, { keys: { ...this.keys, operation }, args });
  }

  async announce(partitions: number): Promise<number> {
    const config = this.bench.registry.keySpace('stream-consumer').tag(this.stream).key('config');
    const args = { partitions, group: this.group, paused: 0, atEnd: 0 };
    const answer = await this.bench.registry.run(announcePartitions, { keys: { config }, args });
    expect(answer.groups).toEqual([this.group]);
    return answer.partitions;
  }

  groups(): Promise<string[]> {
    return this.bench.registry.run(listGroups, { keys: { stream: this.keys.stream }, args: {} });
  }

  withdraw(): Promise<boolean> {
    const config = this.bench.registry.keySpace('stream-consumer').tag(this.stream).key('config');
    return this.bench.registry.run(withdrawGroup, { keys: { config }, args: { group: this.group } });
  }

  stats(): Promise<{ length: number; dead: number }> {
    return this.bench.registry.run(readStats, { keys: this.keys, args: { group: this.group } });
  }

  /** Rows of the dead letters, as the script has them. */
  async dead(): Promise<string[]> {
    const script = (this.foreign ? listDeadForeign : listDead) as typeof listDead;
    return (await this.bench.registry.run(script, { keys: this.keys, args: { after: '0', until: '+', count: 10 } }))
      .slice(1)
      .map(String);
  }
}
