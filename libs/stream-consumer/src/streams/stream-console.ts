import type { ScriptRegistry } from 'luanest/script-registry';
import { Checks } from '../../../internal/src';
import type { DeadLetters } from './dead-letters';
import type { Partition } from './partitions';
import { Stream, type StreamCatalog } from './stream-catalog';
import { NAME, resolveStream } from './stream-options';
import { findMessage, listConsumers, listGroups, readConfig, readStats } from './streams.scripts';

/** The search for a message reads at most this many dead letters. A list of consumers has at most this many per partition. */
const [MOST_DEAD, MOST_CONSUMERS] = [200, 100];
const MESSAGE = /^(\d{1,4}):(\d{1,20}-\d{1,20})$/;
const checks = new Checks('Console');

/** A stream that `luanest/console` reads. Nothing is written to Redis, and this process does not remember the stream. */
class SeenStream extends Stream {
  private found = 0;
  groupNames: readonly string[] = [];
  pausedNames: readonly string[] = [];

  /**
   * Reads the partitions, the groups and the pauses from Redis.
   *
   * @returns false if Redis has no such stream.
   * @throws the errors of ScriptRegistry.run()
   */
  async look(): Promise<boolean> {
    const { partitions, groups, paused } = await this.registry.run(readConfig, { keys: this.config, args: {} });
    this.found = this.isForeign ? this.options.keys.length : partitions;
    const { stream } = this.partition(0);
    const isListed = groups.length > 0 || (this.found === 0 && !this.isForeign);
    this.groupNames = isListed ? groups : await this.registry.run(listGroups, { keys: { stream }, args: {} });
    this.pausedNames = paused;
    return this.found > 0;
  }

  override all(): Promise<readonly Partition[]> {
    return Promise.resolve(Array.from({ length: this.found }, (_, index) => this.partition(index)));
  }

  /** Returns the statistics of a group for each partition. @throws the errors of ScriptRegistry.run() */
  async statsOf(group: string) {
    const partitions = await this.all();
    return Promise.all(
      partitions.map((partition) => {
        const { stream, sessions, due, dead, unsettled } = partition.of(group);
        return this.registry.run(readStats, { keys: { stream, sessions, due, dead, unsettled }, args: { group } });
      }),
    );
  }

  /** Returns the consumers that hold messages of a group, for each partition. @throws the errors of ScriptRegistry.run() */
  async consumersOf(group: string) {
    const partitions = await this.all();
    return Promise.all(
      partitions.map((partition) => {
        const { stream, sessions, woken } = partition.of(group);
        const keys = { stream, sessions, woken };
        return this.registry.run(listConsumers, { keys, args: { group, count: MOST_CONSUMERS } });
      }),
    );
  }

  /**
   * Finds a message or a dead letter by the id of the message.
   *
   * @returns one item for each group; if the stream has no groups, one item with the group `''`; an empty array if no message can have
   *   this id
   * @throws the errors of ScriptRegistry.run()
   */
  async find(id: string) {
    const [, index, entry] = MESSAGE.exec(id) ?? [];
    const partition = (await this.all())[Number(index ?? NaN)];
    const fits = entry?.split('-').every((part) => BigInt(part) < 2n ** 64n);
    if (partition === undefined || entry === undefined || !fits) return [];
    const groups = this.groupNames.length > 0 ? this.groupNames : [''];
    return Promise.all(
      groups.map(async (group) => {
        const { stream, sessions, due, tries, dead } = partition.of(group || '-');
        const keys = { stream, sessions, due, tries, dead };
        const found = await this.registry.run(findMessage, { keys, args: { group, id: entry, most: MOST_DEAD } });
        return { group, ...found, dead: found.dead && `${index}:${found.dead}` };
      }),
    );
  }
}

/** Reads and changes streams for `luanest/console`. */
export class StreamConsole {
  constructor(
    readonly registry: ScriptRegistry,
    private readonly catalog: StreamCatalog,
    readonly dead: DeadLetters,
    /** Returns the groups that this process reads. */
    readonly ownGroups: () => readonly { readonly stream: string; readonly group: string }[],
  ) {}

  /** Names of the streams that this process uses. */
  get known(): readonly string[] {
    return this.catalog.names;
  }

  /** Returns a stream; undefined if Redis has no stream with this name. @throws the errors of ScriptRegistry.run() */
  async open(name: string): Promise<SeenStream | undefined> {
    if (!NAME.test(name)) return undefined;
    const options = this.catalog.find(name)?.options ?? resolveStream(checks, undefined);
    const stream = new SeenStream(this.registry, this.registry.keySpace('stream-consumer'), name, options);
    return (await stream.look()) ? stream : undefined;
  }
}
