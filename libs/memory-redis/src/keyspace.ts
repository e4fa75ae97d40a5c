import type { Clock } from './clock';
import { History, type KeysState } from './history';
import { RandomIndexes } from './random-indexes';
import { refuse, WRONG_TYPE } from './reply';
import { Watches } from './watches';
import { HashValue, ListValue, SetValue, copyOfValue, type Value } from './values';
import { SortedSet } from './sorted-set';

export interface Entry {
  value: Value;
  /** Time at which the key expires, ms since 1970; undefined for a key without TTL. */
  expiresAtMs: number | undefined;
  /**
   * Value of `Keyspace.epoch` when this entry was created. If it is lower than the present value, a snapshot may need this entry, so it is
   * copied before a change.
   */
  readonly epoch: number;
}

interface TypeOf<Type extends Value> {
  readonly prototype: Type;
}

/** The keys of a database, with their values and TTLs. */
export class Keyspace {
  private readonly entries = new Map<string, Entry>();
  private readonly history = new History(this.entries);
  readonly watches = new Watches();
  /** Makes the random choices of RANDOMKEY, SPOP and SRANDMEMBER. */
  readonly random = new RandomIndexes();
  /** Increases whenever a snapshot is taken or restored. */
  private epoch = 0;
  private expiryMs: number | undefined;
  /** How long a key still exists after its TTL has ended, ms. */
  private readonly graceMs: number;

  constructor(private readonly clock: Clock) {
    this.graceMs = clock.exactTtl === true ? 0 : 1;
  }

  /** Present time, ms since 1970. */
  get nowMs(): number {
    return Math.floor(this.clock.nowUs() / 1000);
  }

  get nowUs(): number {
    return this.clock.nowUs();
  }

  /** Runs a script. Keys do not expire while it runs, as in Redis. */
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

  /** Returns a value for reading; undefined if the key does not exist. @throws RedisError if the value has another type */
  readString(key: string): string | undefined {
    const value = this.get(key);
    return value === undefined || typeof value === 'string' ? value : refuse(WRONG_TYPE);
  }

  read<Type extends Value>(key: string, type: TypeOf<Type>): Type | undefined {
    const value = this.get(key);
    return value === undefined || isOf(value, type) ? value : refuse(WRONG_TYPE);
  }

  /**
   * Returns a value that the caller may change; undefined if the key does not exist. Call `removeIfEmpty` afterwards if the change may
   * remove the last element.
   */
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

  /** Sets a key without a TTL. @returns `value` */
  add<Type extends Value>(key: string, value: Type): Type {
    this.set(key, value);
    return value;
  }

  /** Sets a key. @param expiresAtMs ms since 1970; undefined for no TTL */
  set(key: string, value: Value, expiresAtMs?: number): void {
    this.note(key);
    this.entries.set(key, { value, expiresAtMs, epoch: this.epoch });
  }

  /** Sets the value of a key, and keeps its TTL. */
  replace(key: string, value: Value): void {
    this.set(key, value, this.find(key)?.expiresAtMs);
  }

  delete(key: string): boolean {
    if (this.find(key) === undefined) return false;
    this.note(key);
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
    for (const key of this.entries.keys()) this.note(key);
    this.entries.clear();
  }

  /** Saves the present state of the keys, in the same time for any number of keys. */
  save(): KeysState<Entry> {
    this.epoch++;
    return this.history.save();
  }

  /**
   * Restores a saved state. This takes longer the more keys have changed between the two states.
   *
   * @throws RangeError if the state is of another keyspace
   */
  restore(state: KeysState<Entry>): void {
    this.history.restore(state);
    this.watches.noteAll();
    this.epoch++;
  }

  private find(key: string): Entry | undefined {
    const entry = this.entries.get(key);
    if (entry?.expiresAtMs === undefined || (this.expiryMs ?? this.nowMs) < entry.expiresAtMs + this.graceMs)
      return entry;
    this.note(key);
    this.entries.delete(key);
    return undefined;
  }

  /** Must be called before a key changes. Makes WATCH of the key fail, and keeps its value for snapshots. */
  private note(key: string): void {
    this.watches.note(key);
    this.history.remember(key);
  }

  /** Returns the entry of a key, to change it. If a snapshot may need the entry, returns a copy. */
  private own(key: string): Entry {
    const entry = this.entries.get(key) as Entry;
    this.note(key);
    if (entry.epoch === this.epoch) return entry;
    const copy = { ...entry, value: copyOfValue(entry.value), epoch: this.epoch };
    this.entries.set(key, copy);
    return copy;
  }
}

function isOf<Type extends Value>(value: Value, { prototype }: TypeOf<Type>): value is Type {
  return Object.getPrototypeOf(value) === prototype;
}
