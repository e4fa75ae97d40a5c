import { type KeySpace, type ScriptRegistry } from 'luanest/script-registry';
import { Checks, InvalidOptionError, time } from '../../../internal/src';
import { Partition } from './partitions';
import {
  checkKnown,
  checkStreamName,
  nameOf,
  optionsOf,
  resolveStream,
  type AnyStream,
  type ResolvedStreamOptions,
  type StreamOptions,
} from './stream-options';
import { announcePartitions, listGroups, pauseGroup, withdrawGroup } from './streams.scripts';

/** A process writes the number of partitions to Redis again after this time, ms, in case Redis has lost the number. */
const ANNOUNCE_EVERY_MS = 30_000;

/**
 * If Redis no longer lists a group, this process still remembers the group for this time, ms. A failover may have lost the name; running
 * consumers of the group then write it again within 12.5 s.
 */
const KEPT_MS = 20_000;

/**
 * The groups of a stream that this process knows. A message may be deleted only when all of them have finished it.
 * See DECISIONS.md: last-group-deletes
 */
export class RegisteredGroups {
  /** For each group by name: time since when Redis no longer lists it, by `time.monotonicMs()`; undefined if the last reply listed it. */
  private readonly missingSince = new Map<string, number | undefined>();
  /** Names of the groups, separated by spaces. */
  names = '';

  /**
   * @param keptMs how long a group that Redis no longer lists is remembered, ms. If a failover has lost the name of a group, running
   *   consumers of the group write it again within this time
   */
  constructor(private readonly keptMs: number) {}

  /** Adds the groups that Redis lists now. Forgets groups that Redis has not listed for more than `keptMs`. */
  add(groups: readonly string[]): void {
    const now = time.monotonicMs();
    for (const [name, since = now] of this.missingSince) {
      if (now - since > this.keptMs) this.missingSince.delete(name);
      else this.missingSince.set(name, since);
    }
    for (const name of groups) this.missingSince.set(name, undefined);
    this.write();
  }

  remove(name: string): void {
    this.missingSince.delete(name);
    this.write();
  }

  private write(): void {
    this.names = [...this.missingSince.keys()].join(' ');
  }
}

/** Groups that must finish a message of a partition before it may be deleted. */
export interface Settlers {
  /** Names of the groups, separated by spaces; `*` if finished messages are not deleted. */
  readonly needs: string;
  /** For each of these groups, in the same order: key of the set of messages that the group has not finished. */
  readonly needed: readonly string[];
}

const KEPT: Settlers = { needs: '*', needed: [] };

/** A stream as this process knows it: options, partitions and groups. */
export class Stream {
  private readonly partitions: Partition[] = [];
  /** Last result of `groupsOf` for each partition, by its index. */
  private readonly settlers: Settlers[] = [];
  private readonly groups: RegisteredGroups;
  /** Names of the groups that were paused when this process last asked Redis. */
  private readonly paused = new Set<string>();
  private announcing: Promise<void> | undefined;
  private announcedAt = -Infinity;
  /** Number of partitions: the option `partitions`, or a higher number that another process has stored in Redis. */
  private count: number;

  constructor(
    protected readonly registry: ScriptRegistry,
    private readonly space: KeySpace,
    readonly name: string,
    readonly options: ResolvedStreamOptions,
  ) {
    this.groups = new RegisteredGroups(KEPT_MS);
    this.count = options.partitions;
  }

  partition(index: number): Partition {
    return (this.partitions[index] ??= new Partition(this.space, this.name, index, this.options.keys[index]));
  }

  /** True for a stream of another program (option `keys`), which creates the keys and writes the entries. */
  get isForeign(): boolean {
    return this.options.keys.length > 0;
  }

  /** Returns true if the stream may have this partition. A stream with `keys` has one partition for each key. */
  has(index: number): boolean {
    return !this.isForeign || index < this.options.keys.length;
  }

  /**
   * Returns all partitions of the stream, including those that another process added.
   *
   * @throws the errors of ScriptRegistry.run()
   */
  async all(): Promise<readonly Partition[]> {
    if (!this.isForeign) await this.announce();
    return this.list();
  }

  /**
   * Stores a group in the config of the stream, and returns all partitions. Redis returns groups and partitions in one reply. So before a
   * process deletes messages of a partition, it knows each group that is older than the partition. Redis may have lost the config, so the
   * groups are also read from partition 0. For a stream with `keys`, nothing is stored, except a pause that Redis has lost.
   *
   * @param paused true if the caller knows that the group is paused, so that a pause which Redis has lost is stored again
   * @param atEnd true if a new group begins at the end of the partitions that exist now
   * @returns the partitions, and in `ends` the number of partitions at whose end the group begins. After the group was created there, call
   *   `join` again without `atEnd`
   * @throws the errors of ScriptRegistry.run()
   */
  async join(
    group: string,
    paused = false,
    atEnd = false,
  ): Promise<{ readonly partitions: readonly Partition[]; readonly ends: number }> {
    if (this.isForeign) {
      await this.pause(group, paused ? 'keep' : 'read');
      return { partitions: this.list(), ends: atEnd ? Infinity : 0 };
    }
    const ends = await this.announceFor(group, paused, atEnd);
    const partitions = this.list();
    const { stream } = this.partition(0);
    this.groups.add(await this.registry.run(listGroups, { keys: { stream }, args: {} }));
    return { partitions, ends };
  }

  /** Returns true if the group was paused when this process last asked Redis. */
  isPaused(group: string): boolean {
    return this.paused.has(group);
  }

  /**
   * Pauses or resumes a group, or reads whether it is paused.
   *
   * @param action `keep` reads the pause, and stores it again if Redis has lost it
   * @throws the errors of ScriptRegistry.run()
   */
  async pause(group: string, action: 'pause' | 'resume' | 'read' | 'keep'): Promise<boolean> {
    const paused = await this.registry.run(pauseGroup, { keys: this.config, args: { group, action } });
    if (paused) this.paused.add(group);
    else this.paused.delete(group);
    return paused;
  }

  /**
   * Returns the groups that must finish a message of a partition; the last of them deletes it. With `retain`, a periodic cleanup deletes
   * messages instead.
   */
  settlersOf(partition: Partition): Settlers {
    return this.options.retain ? KEPT : this.groupsOf(partition);
  }

  /** Returns the groups that must finish a message of a partition before it may be deleted, also with `retain`. */
  groupsOf(partition: Partition): Settlers {
    const { needs } = this;
    const known = this.settlers[partition.index];
    if (known?.needs === needs) return known;
    const names = needs === '*' ? [] : needs.split(' ').filter((name) => name !== '');
    return (this.settlers[partition.index] = { needs, needed: names.map((name) => partition.of(name).unsettled) });
  }

  private get needs(): string {
    if (!this.isForeign) return this.groups.names;
    return this.options.deleteAfter.length > 0 ? this.options.deleteAfter.join(' ') : '*';
  }

  /**
   * Removes a group from the config of the stream, and ends its pause.
   *
   * @returns true if the config had the group
   * @throws the errors of ScriptRegistry.run()
   */
  async withdraw(group: string): Promise<boolean> {
    const withdrawn = await this.registry.run(withdrawGroup, { keys: this.config, args: { group } });
    this.paused.delete(group);
    this.groups.remove(group);
    return withdrawn;
  }

  /**
   * True if this process has stored its number of partitions in Redis before, so that a publish need not wait until the number is stored.
   * If that was more than 30 s ago, the number is also stored again, in the background.
   */
  get announced(): boolean {
    if (this.isForeign) return true;
    const age = time.monotonicMs() - this.announcedAt;
    if (age < ANNOUNCE_EVERY_MS) return true;
    if (this.announcedAt === -Infinity) return false;
    // Redis has the number already, unless a failover has lost it, so the publish does not wait.
    this.announce().catch(() => undefined);
    return true;
  }

  /**
   * Stores the number of partitions in Redis unless Redis has a higher one. Reads that number, and the groups of the stream. Several calls
   * at the same time share one call to Redis.
   *
   * @throws the errors of ScriptRegistry.run()
   */
  announce(): Promise<void> {
    this.announcing ??= this.announceFor('')
      .then(() => undefined)
      .finally(() => (this.announcing = undefined));
    return this.announcing;
  }

  private list(): readonly Partition[] {
    return Array.from({ length: this.count }, (_, index) => this.partition(index));
  }

  /** Pub/Sub channel on which Redis announces new partitions, new groups and changes of pauses. */
  get channel(): string {
    return this.config.config;
  }

  protected get config(): { readonly config: string } {
    return { config: this.space.tag(this.name).key('config') };
  }

  private async announceFor(group: string, known = false, isAtEnd = false): Promise<number> {
    const args = { partitions: this.count, group, paused: known ? 1 : 0, atEnd: isAtEnd ? 1 : 0 };
    const { partitions, paused, groups, atEnd } = await this.registry.run(announcePartitions, {
      keys: this.config,
      args,
    });
    this.groups.add(groups);
    this.paused.clear();
    for (const name of paused) this.paused.add(name);
    this.count = Math.max(this.count, partitions);
    this.announcedAt = time.monotonicMs();
    return atEnd;
  }
}

/** All streams that this process uses. */
export class StreamCatalog {
  private readonly streams = new Map<string, Stream>();
  /** Streams with options that `luanest/outbox` has stored with a message, by name and options as text (see `as`). */
  private readonly others = new Map<string, Stream>();
  /** Streams by the object that `defineStream` returned. The options of such an object need to be compared only at its first use. */
  private defined = new WeakMap<AnyStream, Stream>();
  private readonly space: KeySpace;

  /** @param partitions default of the option `partitions`; only tests change it */
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly partitions?: number,
  ) {
    this.space = registry.keySpace('stream-consumer');
  }

  /**
   * Returns a stream by its name, or by the value that `defineStream` returned.
   *
   * @throws InvalidOptionError for an invalid name or value, and for a value whose options differ from those that the stream has
   *   in this process; InvalidInputError for invalid `keys`
   */
  get(stream: string | AnyStream): Stream {
    if (typeof stream === 'string') return this.named(stream);
    return this.defined.get(stream) ?? this.define(stream);
  }

  /**
   * Returns a stream with the given options, even if this process uses other options for it. `luanest/outbox` needs this, because another
   * process may send the same message again. It must then go to the same partition, where Redis detects the repetition.
   *
   * @throws InvalidOptionError for an invalid name or option
   */
  as(name: string, given: StreamOptions): Stream {
    const key = `${name} ${JSON.stringify(given)}`;
    let stream = this.others.get(key);
    if (!stream) {
      const where = new Checks('OutboxService');
      checkKnown(where, given);
      checkStreamName(where, 'stream', name);
      stream = new Stream(this.registry, this.space, name, resolveStream(where, given));
      this.others.set(key, stream);
    }
    return stream;
  }

  /** Names of the streams that this process uses. */
  get names(): readonly string[] {
    return [...this.streams.keys()];
  }

  /** Returns a stream by its name; undefined if this process does not use the stream. */
  find(name: string): Stream | undefined {
    return this.streams.get(name);
  }

  /** Forgets a stream. The options of a value of `defineStream` are then compared again at its next use. */
  forget(name: string): void {
    this.streams.delete(name);
    for (const key of this.others.keys()) if (key.startsWith(`${name} `)) this.others.delete(key);
    this.defined = new WeakMap();
  }

  private named(name: string): Stream {
    let stream = this.streams.get(name);
    if (!stream) {
      const where = new Checks('StreamConsumerService');
      checkStreamName(where, 'stream', name);
      stream = new Stream(this.registry, this.space, name, resolveStream(where, undefined, this.partitions));
      this.streams.set(name, stream);
    }
    return stream;
  }

  private define(definition: AnyStream): Stream {
    const where = new Checks('defineStream');
    const name = checkStreamName(where, 'name', nameOf(definition) ?? definition);
    const given = optionsOf(definition);
    const stream = given === undefined ? this.named(name) : this.withOptions(where, name, given);
    this.defined.set(definition, stream);
    return stream;
  }

  private withOptions(where: Checks, name: string, given: Omit<AnyStream, 'name'>): Stream {
    checkKnown(where, given);
    const options = resolveStream(where, given, this.partitions);
    const known = this.streams.get(name);
    if (known && JSON.stringify(known.options) !== JSON.stringify(options)) {
      throw new InvalidOptionError(
        `defineStream: Stream ${name} was used before in this process with other options. Call defineStream once, and pass the value ` +
          'that it returns to every call, instead of the name of the stream.',
      );
    }
    if (known) return known;
    const stream = new Stream(this.registry, this.space, name, options);
    // Creating the partitions here makes invalid keys throw now, not at the first message.
    options.keys.forEach((_, index) => stream.partition(index));
    this.streams.set(name, stream);
    return stream;
  }
}
