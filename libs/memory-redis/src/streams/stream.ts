import { type ConsumerGroup } from './consumer-group';
import { LOWEST_ID, lowerBound, type StreamId } from './stream-id';

export interface StreamEntry {
  readonly id: StreamId;
  /** Names and values in turn: name, value, name, value. */
  readonly fields: readonly string[];
}

/** A stream: entries sorted by id, and its consumer groups. */
export class Stream {
  readonly type = 'stream';
  entries: StreamEntry[] = [];
  lastId: StreamId = LOWEST_ID;
  /** Highest id that XDEL has deleted. Trimmed entries do not count. */
  maxDeletedId: StreamId = LOWEST_ID;
  entriesAdded = 0n;
  readonly groups = new Map<string, ConsumerGroup>();

  get size(): number {
    return this.entries.length;
  }

  get firstId(): StreamId {
    return this.entries[0]?.id ?? LOWEST_ID;
  }

  copy(): Stream {
    const copy = new Stream();
    copy.entries = [...this.entries];
    copy.lastId = this.lastId;
    copy.maxDeletedId = this.maxDeletedId;
    copy.entriesAdded = this.entriesAdded;
    for (const [name, group] of this.groups) copy.groups.set(name, group.copy());
    return copy;
  }

  add(id: StreamId, fields: readonly string[]): void {
    this.entries.push({ id, fields });
    this.lastId = id;
    this.entriesAdded++;
  }

  /** Returns the index of the first entry whose id is `id` or higher. */
  indexOf(id: StreamId): number {
    return lowerBound(this.entries, id);
  }

  find(id: StreamId): StreamEntry | undefined {
    const entry = this.entries[this.indexOf(id)];
    return entry?.id === id ? entry : undefined;
  }

  /** Returns the entries from one id to another (both inclusive). @param most maximum number of entries */
  range(from: StreamId, to: StreamId, isReverse = false, most = Infinity): readonly StreamEntry[] {
    if (from > to) return [];
    const [start, end] = [this.indexOf(from), this.indexOf(to + 1n)];
    if (!isReverse) return this.entries.slice(start, Math.min(end, start + most));
    return this.entries.slice(Math.max(start, end - most), end).reverse();
  }

  remove(id: StreamId): boolean {
    const index = this.indexOf(id);
    if (this.entries[index]?.id !== id) return false;
    this.entries.splice(index, 1);
    if (id > this.maxDeletedId) this.maxDeletedId = id;
    return true;
  }

  /** Removes the oldest entries. @returns the number of removed entries */
  trim(count: number): number {
    return this.entries.splice(0, count).length;
  }

  /** Returns true if XDEL may have deleted this entry or a later one. Trimming does not count. */
  hasTombstones(id: StreamId): boolean {
    return this.entries.length > 0 && this.firstId <= this.maxDeletedId && id <= this.maxDeletedId;
  }

  /** Returns how many entries were ever added, up to this id; undefined if unknown. */
  entriesReadAt(id: StreamId): bigint | undefined {
    if (this.entriesAdded === 0n) return 0n;
    if (id === this.lastId || (this.entries.length === 0 && id < this.lastId)) return this.entriesAdded;
    if (id > this.lastId) return undefined;
    if (this.maxDeletedId !== LOWEST_ID && this.maxDeletedId >= this.firstId) return undefined;
    const removed = this.entriesAdded - BigInt(this.entries.length);
    if (id < this.firstId) return removed;
    return id === this.firstId ? removed + 1n : undefined;
  }

  /** Returns how many entries a group has not read yet; undefined if unknown. */
  lagOf(group: ConsumerGroup): bigint | undefined {
    if (this.entriesAdded === 0n) return 0n;
    const isKnown = group.entriesRead !== undefined && !this.hasTombstones(group.lastId);
    const read = isKnown ? group.entriesRead : this.entriesReadAt(group.lastId);
    return read === undefined ? undefined : this.entriesAdded - read;
  }

  /** Records that a group has read an entry. */
  noteRead(group: ConsumerGroup, id: StreamId): void {
    if (id <= group.lastId) return;
    if (group.entriesRead !== undefined && !this.hasTombstones(id)) group.entriesRead++;
    else if (this.entriesAdded > 0n) group.entriesRead = this.entriesReadAt(id);
    group.lastId = id;
  }
}
