import { type KeySpace, type ScriptRegistry } from 'luanest/script-registry';
import { InvalidOptionError } from '../../../internal/src';
import {
  resolveStream,
  type ResolvedStreamConsumerModuleOptions,
  type ResolvedStreamOptions,
  type StreamOptions,
} from '../stream-consumer.options';
import { announcePartitions, listGroups, withdrawGroup } from './streams.scripts';
import { Partition } from './partitions';
import { Roster } from './registered-groups';

/** How often a publisher says again how many partitions its streams have, ms: the note may have been lost. */
const ANNOUNCE_EVERY_MS = 30_000;

/** A stream as this process knows it. */
export class Stream {
  private readonly partitions: Partition[] = [];
  private readonly roster = new Roster();
  private announcing: Promise<void> | undefined;
  private announcedAt = -Infinity;
  private known: number;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly space: KeySpace,
    readonly name: string,
    readonly options: ResolvedStreamOptions,
  ) {
    this.known = options.partitions;
  }

  /** A partition by its number. */
  partition(index: number): Partition {
    return (this.partitions[index] ??= new Partition(this.space, this.name, index, this.options.keys[index]));
  }

  /** Whether another program has named its keys, and makes them. */
  get isForeign(): boolean {
    return this.options.keys.length > 0;
  }

  /** Whether there may be such a partition: those of a stream that another program has named are known. */
  has(index: number): boolean {
    return !this.isForeign || index < this.options.keys.length;
  }

  /** All partitions that anybody has announced. @throws errors of the registry */
  async all(): Promise<readonly Partition[]> {
    if (!this.isForeign) await this.announce();
    return this.list();
  }

  /**
   * Notes that a group reads the stream, and answers all partitions. The stream's groups are learned together with the
   * partitions, so whoever deletes on a partition knows every group that is older than it. Partition 0 is asked too: it has
   * the groups when the note of them was lost.
   *
   * @throws errors of the registry
   */
  async join(group: string): Promise<readonly Partition[]> {
    if (this.isForeign) return this.list();
    await this.say(group);
    const partitions = this.list();
    const { stream } = this.partition(0);
    this.roster.learn(await this.registry.run(listGroups, { keys: { stream }, args: {} }));
    return partitions;
  }

  /** Groups that must settle a message before it is deleted, with spaces between; `*` where none is ever deleted. */
  get needs(): string {
    if (!this.isForeign) return this.roster.text;
    return this.options.deleteAfter.length > 0 ? this.options.deleteAfter.join(' ') : '*';
  }

  /** Forgets that a group reads the stream. @throws errors of the registry */
  async withdraw(group: string): Promise<boolean> {
    const withdrawn =
      !this.isForeign && (await this.registry.run(withdrawGroup, { keys: this.config, args: { group } }));
    this.roster.forget(group);
    return withdrawn;
  }

  /** Whether publishing has to wait for an announcement. */
  get announced(): boolean {
    if (this.isForeign) return true;
    const age = performance.now() - this.announcedAt;
    if (age < ANNOUNCE_EVERY_MS) return true;
    if (this.announcedAt === -Infinity) return false;
    // It stands in Redis, unless that has lost it: nobody has to wait.
    this.announce().catch(() => undefined);
    return true;
  }

  /** Tells consumers elsewhere how many partitions there are, and learns it from them. @throws errors of the registry */
  announce(): Promise<void> {
    this.announcing ??= this.say('').finally(() => (this.announcing = undefined));
    return this.announcing;
  }

  private list(): readonly Partition[] {
    return Array.from({ length: this.known }, (_, index) => this.partition(index));
  }

  private get config(): { readonly config: string } {
    return { config: this.space.tag(this.name).key('config') };
  }

  private async say(group: string): Promise<void> {
    const args = { partitions: this.known, group };
    const { partitions, groups } = await this.registry.run(announcePartitions, { keys: this.config, args });
    this.roster.learn(groups);
    this.known = Math.max(this.known, partitions);
    this.announcedAt = performance.now();
  }
}

/** The streams that this process uses. */
export class StreamCatalog {
  private readonly streams = new Map<string, Stream>();
  private readonly space: KeySpace;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedStreamConsumerModuleOptions,
  ) {
    this.space = registry.keySpace('stream-consumer');
  }

  /** @throws InvalidOptionError for a name that cannot be one */
  get(name: string): Stream {
    let stream = this.streams.get(name);
    if (!stream) {
      stream = new Stream(this.registry, this.space, name, resolveStream(name, this.options));
      this.streams.set(name, stream);
    }
    return stream;
  }

  /** Makes a stream known that the module's options do not name. @throws InvalidOptionError for one that is known otherwise */
  define(name: string, given: StreamOptions): void {
    const options = resolveStream(name, this.options, given);
    const known = this.streams.get(name) ?? (Object.hasOwn(this.options.streams, name) ? this.get(name) : undefined);
    if (known && JSON.stringify(known.options) !== JSON.stringify(options)) {
      throw new InvalidOptionError(
        `Stream ${name} is in use with other options. Define it before it is used, with the same options everywhere.`,
      );
    }
    if (known) return;
    const stream = new Stream(this.registry, this.space, name, options);
    // A key that cannot be one is told of here, not at the first message.
    options.keys.forEach((_, index) => stream.partition(index));
    this.streams.set(name, stream);
  }

  /** Forgets a stream, and what it was defined as. */
  forget(name: string): void {
    this.streams.delete(name);
  }
}
