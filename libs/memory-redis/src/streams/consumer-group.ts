import { lowerBound, type StreamId } from './stream-id';

/** A pending entry: a consumer has received it, but has not acknowledged it with XACK. */
export interface PendingEntry {
  readonly id: StreamId;
  readonly consumer: Consumer;
  /** Time of the last delivery, ms since 1970. */
  readonly deliveredAtMs: number;
  readonly deliveries: bigint;
}

export interface Consumer {
  readonly name: string;
  /** Time at which the consumer last sent a command, ms since 1970. */
  seenAtMs: number;
}

/** A consumer group of a stream. */
export class ConsumerGroup {
  readonly consumers = new Map<string, Consumer>();
  private pending: PendingEntry[] = [];

  /**
   * @param lastId id of the last entry that was delivered to the group
   * @param entriesRead number of entries that the group has read; undefined if it is not known
   */
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

  /** Returns the pending entries from one id to another (both inclusive). */
  pendingRange(from: StreamId, to: StreamId): readonly PendingEntry[] {
    return this.pending.slice(lowerBound(this.pending, from), lowerBound(this.pending, to + 1n));
  }

  findPending(id: StreamId): PendingEntry | undefined {
    const entry = this.pending[lowerBound(this.pending, id)];
    return entry?.id === id ? entry : undefined;
  }

  /** Adds a pending entry. Replaces the pending entry with the same id, if there is one. */
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

  /** Returns the consumer of this name. Creates it if it does not exist. */
  consumer(name: string, nowMs: number): Consumer {
    const known = this.consumers.get(name);
    if (known !== undefined) return known;
    const consumer = { name, seenAtMs: nowMs };
    this.consumers.set(name, consumer);
    return consumer;
  }

  /** Removes a consumer with its pending entries. @returns the number of these entries */
  removeConsumer(name: string): number {
    const consumer = this.consumers.get(name);
    if (consumer === undefined) return 0;
    const before = this.pending.length;
    this.pending = this.pending.filter((entry) => entry.consumer !== consumer);
    this.consumers.delete(name);
    return before - this.pending.length;
  }
}
