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

/** Pause after which a publisher writes the number of partitions to Redis again, in case that Redis has lost the number; ms. */
const ANNOUNCE_EVERY_MS = 30_000;

/** Time for which a group is kept that Redis no longer lists, ms. Consumers of a group in use check it within 12.5 s. */
const KEPT_MS = 20_000;

/**
 * The groups of a stream that this process knows. A message is deleted only when all these groups have settled it.
 * See DECISIONS.md: last-group-deletes
 */
export class RegisteredGroups {
  /** For each group, since when replies of Redis have not listed it; undefined if the last one listed it. */
  private readonly missingSince = new Map<string, number | undefined>();
  /** Names of the groups, separated by spaces. */
  names = '';

  /**
   * @param keptMs how long a group is kept that Redis no longer lists, ms. A failover may have lost its name. Its running
   *   consumers write the name again at their next check; a removed group should have no consumers
   */
  constructor(private readonly keptMs: number) {}

  /** Adds groups that Redis lists, and removes groups that Redis has not listed for longer than `keptMs`. */
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

/** The groups that must settle a message of a partition before it is deleted. */
export interface Settlers {
  /** Their names, separated by spaces; `*` if no message is deleted. */
  readonly needs: string;
  /** For each of these groups, the key of the messages that the group has not settled. */
  readonly needed: readonly string[];
}

const KEPT: Settlers = { needs: '*', needed: [] };

/** A stream: its options, its partitions, and the groups that this process knows. */
export class Stream {
  private readonly partitions: Partition[] = [];
  /** Last values of `groupsOf`, by the indexes of the partitions. */
  private readonly settlers: Settlers[] = [];
  private readonly groups: RegisteredGroups;
  /** Names of the groups that were paused at the last look at the stream's config. */
  private readonly paused = new Set<string>();
  private announcing: Promise<void> | undefined;
  private announcedAt = -Infinity;
  /** Number of partitions: the option `partitions`, or a higher number that another process has written to Redis. */
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

  /** True for a stream with `keys`: another program creates the keys and writes the entries. */
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
   * Writes the name of a group to the stream's config, and returns all partitions. Groups and partitions come from one reply. So a
   * process that knows a partition, and deletes entries of it, knows each group that is older than the partition. The groups that
   * Redis has on partition 0 are added, in case that the config was lost. For a stream with `keys`, it writes nothing.
   *
   * @param paused true if the caller knows that the group is paused. If Redis has lost that, it is written again
   * @param atEnd true if the group, if it is new, begins at the end of the partitions that the stream has now
   * @returns also the number of partitions at whose end the group begins. Call this without `atEnd` when the group is opened there
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

  /** Returns true if the group was paused at the last look at the stream's config. */
  isPaused(group: string): boolean {
    return this.paused.has(group);
  }

  /**
   * Pauses or resumes a group, or reads whether it is paused.
   *
   * @param action `keep` reads, and writes a pause that Redis has lost
   * @throws the errors of ScriptRegistry.run()
   */
  async pause(group: string, action: 'pause' | 'resume' | 'read' | 'keep'): Promise<boolean> {
    const paused = await this.registry.run(pauseGroup, { keys: this.config, args: { group, action } });
    if (paused) this.paused.add(group);
    else this.paused.delete(group);
    return paused;
  }

  /** Returns the groups that must settle a message of a partition; then it is deleted. With `retain`, a purge deletes it instead. */
  settlersOf(partition: Partition): Settlers {
    return this.options.retain ? KEPT : this.groupsOf(partition);
  }

  /** Returns the groups that must settle a message of a partition before it may be deleted. */
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
   * Removes the name of a group from the stream's config, and ends its pause.
   *
   * @returns true if the config had the name
   * @throws the errors of ScriptRegistry.run()
   */
  async withdraw(group: string): Promise<boolean> {
    const withdrawn = await this.registry.run(withdrawGroup, { keys: this.config, args: { group } });
    this.paused.delete(group);
    this.groups.remove(group);
    return withdrawn;
  }

  /**
   * True if a publish need not wait until this process has written its number of partitions to Redis. Reading this property
   * writes the number again if that is due.
   */
  get announced(): boolean {
    if (this.isForeign) return true;
    const age = time.monotonicMs() - this.announcedAt;
    if (age < ANNOUNCE_EVERY_MS) return true;
    if (this.announcedAt === -Infinity) return false;
    // Redis has the number, unless Redis has lost it, so the publish does not wait.
    this.announce().catch(() => undefined);
    return true;
  }

  /**
   * Stores the number of partitions in Redis unless a higher one is stored, and reads the highest number and the groups that any
   * process stored. Calls at the same time share one call to Redis.
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

  /** Name of the channel that reports new partitions and groups. */
  get channel(): string {
    return this.config.config;
  }

  /** Key of the stream's config. */
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

/** The streams that this process uses. */
export class StreamCatalog {
  private readonly streams = new Map<string, Stream>();
  /** Streams with the options of messages of outboxes, by their names and options. */
  private readonly others = new Map<string, Stream>();
  /** Streams by the values of defineStream, so that the options of each value are compared once. */
  private defined = new WeakMap<AnyStream, Stream>();
  private readonly space: KeySpace;

  /** @param partitions of a stream that does not set its own; only tests change it */
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
   * Returns a stream with given options, which may differ from those that it has in this process: a message of an outbox goes to the
   * partition of the process that wrote it, so that it is recognized when it is sent again.
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

  /** Returns a stream that this process uses; undefined for another one. */
  find(name: string): Stream | undefined {
    return this.streams.get(name);
  }

  /** Forgets a stream. The options of all values of defineStream are compared again at their next use. */
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
        `defineStream: Stream ${name} has other options in this process already. Define it in one place: call ` +
          `defineStream once and pass its value to every call. Do not use its name alone before.`,
      );
    }
    if (known) return known;
    const stream = new Stream(this.registry, this.space, name, options);
    // This refuses invalid keys now, not at the first message.
    options.keys.forEach((_, index) => stream.partition(index));
    this.streams.set(name, stream);
    return stream;
  }
}
