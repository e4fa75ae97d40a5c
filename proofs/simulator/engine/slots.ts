import { slotOf } from '../../../libs/internal/src';
import type { Keyspace } from '../../../libs/memory-redis/src/keyspace';
import { OK, RedisError, type Reply } from '../../../libs/memory-redis/src/reply';
import type { Session } from '../../../libs/memory-redis/src/session';
import type { RedisNode } from './redis-node';
import type { Scheduler } from './scheduler';

const SLOTS = 16_384;
/** After this time without one of its masters, no node of the Cluster runs commands, us. */
const NODE_TIMEOUT_US = 500_000;
/** Commands without keys that clients send. */
const KEYLESS = new Set(
  'hello client info ping quit time wait script select subscribe unsubscribe sunsubscribe cluster asking readonly readwrite'.split(
    ' ',
  ),
);

/** A part of the slots: the node that has them, and its replica. */
export interface Shard {
  master: RedisNode;
  replica: RedisNode;
}

/** A slot that moves: its keys go from its master to another one, key by key. */
interface Move {
  readonly to: number;
  /** Keys that the other master has. */
  readonly moved: Set<string>;
}

/**
 * Decides which node of a Cluster may run a command. All nodes use the same keys, so a key "is" on a node if this class says so. The rules
 * are those of `getNodeByQuery` in Redis 7.
 */
export class Slots {
  readonly shards: Shard[] = [];
  /** Shards of the slots that have moved. */
  private readonly owners = new Map<number, number>();
  private readonly moves = new Map<number, Move>();
  /** Connections that have sent ASKING just before. */
  private readonly asking = new WeakSet<Session>();

  constructor(
    private readonly db: Keyspace,
    private readonly scheduler: Scheduler,
  ) {}

  /** Returns the index of the shard of a key. A key that has moved with its slot not yet complete is on the new one. */
  shardOfKey(key: string): number {
    const slot = slotOf(key);
    const move = this.moves.get(slot);
    return move?.moved.has(key) ? move.to : this.shardOf(slot);
  }

  /** True if a slot moves to or from a shard, or if its master is down or fails over. @param index any integer from 0 */
  isBusy(index: number): boolean {
    const at = index % this.shards.length;
    const { master } = this.shards[at] as Shard;
    const isMoving = [...this.moves].some(([slot, { to }]) => to === at || this.shardOf(slot) === at);
    return isMoving || master.isDown || master.failovers > 0;
  }

  /**
   * Moves a slot to another shard. The keys go one after the other.
   *
   * @returns false if it is there, or if one of the two is busy
   */
  move(slot: number, to: number, forMs: number): boolean {
    const from = this.shardOf(slot);
    if (from === to || this.isBusy(from) || this.isBusy(to)) return false;
    const move = { to, moved: new Set<string>() };
    this.moves.set(slot, move);
    const endUs = this.scheduler.nowUs + forMs * 1_000;
    const next = (): void => {
      const isDown = [from, to].some((shard) => this.shards[shard]?.master.isDown);
      if (isDown) return this.scheduler.at(this.scheduler.nowUs + 50_000, next);
      const left = this.db
        .keys()
        .filter((key) => slotOf(key) === slot && !move.moved.has(key))
        .sort();
      const [key] = left;
      const leftUs = endUs - this.scheduler.nowUs;
      if (key !== undefined) move.moved.add(key);
      if (left.length <= 1 && leftUs <= 0) return this.endMove(slot, to);
      this.scheduler.at(this.scheduler.nowUs + Math.max(100, leftUs / Math.max(1, left.length)), next);
    };
    this.scheduler.at(this.scheduler.nowUs + (forMs * 1_000) / 4, next);
    return true;
  }

  /** Replaces a master by its replica. */
  promote(shard: Shard): void {
    Object.assign(shard, { master: shard.replica, replica: shard.master });
  }

  /** Returns the reply of a node, if the node does not run the command itself. */
  replyOf(node: RedisNode, session: Session, words: readonly string[]): Reply | undefined {
    const wasAsked = this.asking.delete(session);
    const name = (words[0] ?? '').toLowerCase();
    if (name === 'cluster') return this.clusterReply(words[1] ?? '');
    if (name === 'readonly' || name === 'readwrite') return OK;
    if (name === 'asking') {
      this.asking.add(session);
      return OK;
    }
    const isChannel = name === 'ssubscribe';
    const keys = keysOf(name, words);
    const [first] = keys;
    if (first === undefined) return undefined;
    const slot = slotOf(first);
    if (keys.some((key) => slotOf(key) !== slot)) return error("CROSSSLOT Keys in request don't hash to the same slot");
    if (this.isClusterDown) return error('CLUSTERDOWN The cluster is down');
    const { master } = this.shards[this.shardOf(slot)] as Shard;
    const move = this.moves.get(slot);
    if (move !== undefined && !isChannel) {
      const target = (this.shards[move.to] as Shard).master;
      const isSource = node === master;
      const there = keys.filter((key) => this.has(key) && move.moved.has(key) !== isSource).length;
      if (isSource && there < keys.length) return there > 0 ? unstable() : error(`ASK ${slot} ${addressOf(target)}`);
      if (node === target && wasAsked) return keys.length > 1 && there < keys.length ? unstable() : undefined;
    }
    return node === master ? undefined : error(`MOVED ${slot} ${addressOf(master)}`);
  }

  /** Notes the keys that a command has made on the node to which their slot moves. */
  ran(node: RedisNode, words: readonly string[]): void {
    if (this.moves.size === 0) return;
    for (const key of keysOf((words[0] ?? '').toLowerCase(), words)) {
      const move = this.moves.get(slotOf(key));
      if (move === undefined) continue;
      if (!this.has(key)) move.moved.delete(key);
      else if ((this.shards[move.to] as Shard).master === node) move.moved.add(key);
    }
  }

  private shardOf(slot: number): number {
    return this.owners.get(slot) ?? Math.floor((slot * this.shards.length) / SLOTS);
  }

  private has(key: string): boolean {
    return this.db.get(key) !== undefined;
  }

  private get isClusterDown(): boolean {
    const sinceUs = this.scheduler.nowUs - NODE_TIMEOUT_US;
    return this.shards.some(({ master: { downSinceUs } }) => downSinceUs !== undefined && downSinceUs <= sinceUs);
  }

  private endMove(slot: number, to: number): void {
    const { channels } = (this.shards[this.shardOf(slot)] as Shard).master.server;
    this.moves.delete(slot);
    this.owners.set(slot, to);
    for (const channel of channels.names('shards').sort()) if (slotOf(channel) === slot) channels.endShard(channel);
  }

  private clusterReply(subcommand: string): Reply {
    if (/^info$/i.test(subcommand))
      return `cluster_enabled:1\r\ncluster_state:${this.isClusterDown ? 'fail' : 'ok'}\r\n`;
    if (!/^slots$/i.test(subcommand)) throw new Error(`The simulator has no CLUSTER ${subcommand}.`);
    const nodeOf = ({ port }: RedisNode): Reply[] => ['127.0.0.1', port, String(port).padStart(40, '0')];
    const size = this.shards.length;
    const cuts = this.shards.map((_, shard) => Math.ceil((shard * SLOTS) / size));
    // A range ends where another shard begins, and before and after each slot that has moved.
    const starts = new Set([...cuts, ...[...this.owners.keys()].flatMap((slot) => [slot, slot + 1])]);
    starts.delete(SLOTS);
    const from = [...starts].sort((a, b) => a - b);
    return from.map((start, index) => {
      const { master, replica } = this.shards[this.shardOf(start)] as Shard;
      return [start, (from[index + 1] ?? SLOTS) - 1, nodeOf(master), nodeOf(replica)];
    });
  }
}

function keysOf(name: string, words: readonly string[]): readonly string[] {
  if (name.startsWith('eval')) return words.slice(3, 3 + Number(words[2]));
  if (name === 'ssubscribe') return words.slice(1);
  if (!KEYLESS.has(name)) throw new Error(`The simulated Cluster does not know the keys of ${name}.`);
  return [];
}

function addressOf({ port }: RedisNode): string {
  return `127.0.0.1:${port}`;
}

function unstable(): RedisError {
  return error('TRYAGAIN Multiple keys request during rehashing of slot');
}

function error(message: string): RedisError {
  return new RedisError(message);
}
