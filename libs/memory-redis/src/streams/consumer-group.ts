import { lowerBound, type StreamId } from './stream-id';

/** An entry that a consumer got and has not acknowledged. */
export interface PendingEntry {
  readonly id: StreamId;
  readonly consumer: Consumer;
  /** ms since 1970. */
  readonly deliveredAtMs: number;
  readonly deliveries: bigint;
}

export interface Consumer {
  readonly name: string;
  /** ms since 1970. */
  seenAtMs: number;
}

/** A group of consumers that read a stream together. */
export class ConsumerGroup {
  readonly consumers = new Map<string, Consumer>();
  private pending: PendingEntry[] = [];

  /** @param entriesRead how many entries of the stream the group has read; undefined if that is not known */
  constructor(
    public lastId: StreamId,
    public entriesRead: bigint | undefined,
  ) {}

  copy(): ConsumerGroup {
    const copy = new ConsumerGroup(this.lastId, this.entriesRead);
    const consumers = new Map([...this.consumers.values()].map((one) => [one, { ...one }]));
    for (const consumer of consumers.values()) copy.consumers.set(consumer.name, consumer);
    copy.pending = this.pending.map((entry) => ({
      ...entry,
      consumer: consumers.get(entry.consumer) ?? entry.consumer,
    }));
    return copy;
  }

  get pendingEntries(): readonly PendingEntry[] {
    return this.pending;
  }

  pendingOf(consumer: Consumer): readonly PendingEntry[] {
    return this.pending.filter((entry) => entry.consumer === consumer);
  }

  /** Returns the pending entries from one id to another (inclusive). */
  pendingRange(from: StreamId, to: StreamId): readonly PendingEntry[] {
    return this.pending.slice(lowerBound(this.pending, from), lowerBound(this.pending, to + 1n));
  }

  findPending(id: StreamId): PendingEntry | undefined {
    const entry = this.pending[lowerBound(this.pending, id)];
    return entry?.id === id ? entry : undefined;
  }

  /** Notes that a consumer got an entry, in place of an earlier note. */
  setPending(entry: PendingEntry): void {
    const index = lowerBound(this.pending, entry.id);
    this.pending.splice(index, this.pending[index]?.id === entry.id ? 1 : 0, entry);
  }

  removePending(id: StreamId): boolean {
    const index = lowerBound(this.pending, id);
    if (this.pending[index]?.id !== id) return false;
    this.pending.splice(index, 1);
    return true;
  }

  /** Returns a consumer, which is made if it does not exist. */
  consumer(name: string, nowMs: number): Consumer {
    const known = this.consumers.get(name);
    if (known !== undefined) return known;
    const consumer = { name, seenAtMs: nowMs };
    this.consumers.set(name, consumer);
    return consumer;
  }

  /** Removes a consumer with its pending entries. @returns how many entries were pending */
  removeConsumer(name: string): number {
    const consumer = this.consumers.get(name);
    if (consumer === undefined) return 0;
    const before = this.pending.length;
    this.pending = this.pending.filter((entry) => entry.consumer !== consumer);
    this.consumers.delete(name);
    return before - this.pending.length;
  }
}
