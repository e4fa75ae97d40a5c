import type { Clock } from './clock';
import { refuse, WRONG_TYPE } from './reply';
import { HashValue, ListValue, SetValue, copyOfValue, type Value } from './values';
import { SortedSet } from './sorted-set';

interface Entry {
  value: Value;
  /** ms since 1970; undefined for a key without TTL. */
  expiresAtMs: number | undefined;
  /** Number of snapshots that were taken before the entry was made: an entry older than a snapshot is copied before it changes. */
  readonly generation: number;
}

/** A state of a keyspace to which it can return. */
export interface Snapshot {
  readonly generation: number;
}

/** A class of values. */
interface TypeOf<Type extends Value> {
  readonly prototype: Type;
}

/** The keys of a database. */
export class Keyspace {
  private readonly entries = new Map<string, Entry>();
  /** For each snapshot, the entries that have changed since, as they were. */
  private readonly undo: Map<string, Entry | undefined>[] = [];
  private expiryMs: number | undefined;

  constructor(private readonly clock: Clock) {}

  /** ms since 1970. */
  get nowMs(): number {
    return Math.floor(this.clock.nowUs() / 1000);
  }

  get nowUs(): number {
    return this.clock.nowUs();
  }

  /** Runs a script: no key expires while it runs. */
  freezeExpiry<Result>(run: () => Result): Result {
    const before = this.expiryMs;
    this.expiryMs ??= this.nowMs;
    try {
      return run();
    } finally {
      this.expiryMs = before;
    }
  }

  get(key: string): Value | undefined {
    return this.find(key)?.value;
  }

  /** Returns a value of a type to read; undefined if the key does not exist. @throws RedisError if it has another type */
  readString(key: string): string | undefined {
    const value = this.get(key);
    return value === undefined || typeof value === 'string' ? value : refuse(WRONG_TYPE);
  }

  read<Type extends Value>(key: string, type: TypeOf<Type>): Type | undefined {
    const value = this.get(key);
    return value === undefined || isOf(value, type) ? value : refuse(WRONG_TYPE);
  }

  /** Returns a value to change. Afterwards `removeIfEmpty` is to be called if it may have lost its last element. */
  change<Type extends Value>(key: string, type: TypeOf<Type>): Type | undefined {
    const value = this.read(key, type);
    return value === undefined ? undefined : (this.own(key).value as Type);
  }

  hash(key: string): HashValue {
    return this.change(key, HashValue) ?? this.add(key, new HashValue());
  }

  list(key: string): ListValue {
    return this.change(key, ListValue) ?? this.add(key, new ListValue());
  }

  members(key: string): SetValue {
    return this.change(key, SetValue) ?? this.add(key, new SetValue());
  }

  sortedSet(key: string): SortedSet {
    return this.change(key, SortedSet) ?? this.add(key, SortedSet.empty());
  }

  /** Makes a key. */
  add<Type extends Value>(key: string, value: Type): Type {
    this.set(key, value);
    return value;
  }

  /** Sets a key. @param expiresAtMs ms since 1970; undefined for no TTL */
  set(key: string, value: Value, expiresAtMs?: number): void {
    this.remember(key);
    this.entries.set(key, { value, expiresAtMs, generation: this.undo.length });
  }

  /** Sets the value of a key, and keeps its TTL. */
  replace(key: string, value: Value): void {
    this.set(key, value, this.find(key)?.expiresAtMs);
  }

  delete(key: string): boolean {
    if (this.find(key) === undefined) return false;
    this.remember(key);
    return this.entries.delete(key);
  }

  removeIfEmpty(key: string): void {
    const value = this.entries.get(key)?.value;
    if (value !== undefined && typeof value !== 'string' && value.type !== 'stream' && value.size === 0)
      this.delete(key);
  }

  /** Returns when a key expires, ms since 1970; null if it has no TTL; undefined if it does not exist. */
  expiryOf(key: string): number | null | undefined {
    const entry = this.find(key);
    return entry === undefined ? undefined : (entry.expiresAtMs ?? null);
  }

  /** Sets when a key expires. The key must exist. */
  expireAt(key: string, expiresAtMs: number | undefined): void {
    this.own(key).expiresAtMs = expiresAtMs;
  }

  keys(): string[] {
    return [...this.entries.keys()].filter((key) => this.find(key) !== undefined);
  }

  clear(): void {
    for (const key of this.entries.keys()) this.remember(key);
    this.entries.clear();
  }

  /** Remembers the state as it is now. Takes the same time for any number of keys. */
  snapshot(): Snapshot {
    this.undo.push(new Map());
    return { generation: this.undo.length };
  }

  /**
   * Returns to the state of a snapshot. It can be restored again; later snapshots cannot. Takes time for the keys that have
   * changed since.
   *
   * @throws RangeError if an earlier snapshot was restored since
   */
  restore({ generation }: Snapshot): void {
    if (generation > this.undo.length) throw new RangeError('An earlier snapshot was restored since.');
    for (let index = this.undo.length - 1; index >= generation - 1; index--) {
      for (const [key, entry] of this.undo[index] ?? []) {
        if (entry === undefined) this.entries.delete(key);
        else this.entries.set(key, entry);
      }
    }
    this.undo.length = generation;
    this.undo[generation - 1] = new Map();
  }

  private find(key: string): Entry | undefined {
    const entry = this.entries.get(key);
    if (entry?.expiresAtMs === undefined || (this.expiryMs ?? this.nowMs) <= entry.expiresAtMs) return entry;
    this.remember(key);
    this.entries.delete(key);
    return undefined;
  }

  /** Returns the entry of a key, copied if a snapshot has it. */
  private own(key: string): Entry {
    const entry = this.entries.get(key) as Entry;
    if (entry.generation === this.undo.length) return entry;
    this.remember(key);
    const copy = { ...entry, value: copyOfValue(entry.value), generation: this.undo.length };
    this.entries.set(key, copy);
    return copy;
  }

  private remember(key: string): void {
    const changed = this.undo.at(-1);
    if (changed !== undefined && !changed.has(key)) changed.set(key, this.entries.get(key));
  }
}

function isOf<Type extends Value>(value: Value, { prototype }: TypeOf<Type>): value is Type {
  return Object.getPrototypeOf(value) === prototype;
}
