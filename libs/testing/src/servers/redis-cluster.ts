import calculateSlot from 'cluster-key-slot';
import { type Address, withAdmin } from './admin';
import { joinNodes, startNodes } from './cluster-build';
import { type ClusterView, type NodeView, isFailing, owns, topologyOf, viewOf } from './cluster-view';
import { TestServerError } from './errors';
import { reportFault } from './fault-channel';
import type { RedisServer, ServerSettings } from './redis-server';
import { beginMigration, endMigration, giveSlot, migrateKeys } from './slot-migration';
import { eventually, sleep } from './wait';

const POLL_MS = 40;
/** Longest time to wait for a planned failover, which may need several requests, and for replicas. */
const PATIENCE = { timeoutMs: 20_000 };

/** Size and node timeout of a {@link RedisCluster}. */
export interface ClusterShape {
  readonly masters: number;
  readonly replicas: number;
  readonly nodeTimeoutMs: number;
}

/** A real Redis Cluster on 127.0.0.1. {@link startCluster} starts it. */
export class RedisCluster implements AsyncDisposable {
  /** When each master last had a planned failover (performance.now(), ms), by the master's port. */
  readonly #failedOver = new Map<number, number>();

  private constructor(
    /** All nodes. The nodes that were masters at the start come first, then those that were replicas. */
    readonly nodes: readonly RedisServer[],
    private readonly nodeTimeoutMs: number,
  ) {}

  /** Starts a Cluster. Use {@link startCluster} instead: it checks the options. */
  static async start(
    { masters, replicas, nodeTimeoutMs }: ClusterShape,
    settings: ServerSettings,
  ): Promise<RedisCluster> {
    const nodes = await startNodes(masters * (1 + replicas), nodeTimeoutMs, settings);
    const cluster = new RedisCluster(nodes, nodeTimeoutMs);
    try {
      await joinNodes(nodes, masters);
      await cluster.untilSettled();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** Addresses of all nodes, for `new Cluster(...)` of ioredis. */
  get startupNodes(): Address[] {
    return this.nodes.map(({ host, port }) => ({ host, port }));
  }

  /** Asks one live node for the masters that own slots. */
  async masters(): Promise<RedisServer[]> {
    const view = await this.#anyView();
    return view.nodes.filter(({ slots }) => slots.length > 0).map((node) => this.#serverOf(node));
  }

  /** Asks one live node for the master of a slot (number) or of a key (string). */
  async masterOf(slotOrKey: number | string): Promise<RedisServer> {
    const slot = typeof slotOrKey === 'number' ? slotOrKey : calculateSlot(slotOrKey);
    const owner = (await this.#anyView()).nodes.find((node) => owns(node, slot));
    if (!owner)
      throw new TestServerError(
        `RedisCluster: No node has hash slot ${slot}. Start the killed nodes again, or wait for the failover.`,
      );
    return this.#serverOf(owner);
  }

  /** Asks one live node for the replicas of a master. */
  async replicasOf(master: RedisServer): Promise<RedisServer[]> {
    const { nodes } = await this.#anyView();
    const id = nodes.find(({ port }) => port === master.port)?.id;
    return nodes.filter(({ masterId }) => masterId === id).map((node) => this.#serverOf(node));
  }

  /** Makes a planned failover, which loses no write. Resolves with the new master when all live nodes agree on it. */
  async failover(master: RedisServer): Promise<RedisServer> {
    const replica = await this.#liveReplicaOf(master);
    await this.untilSettled();
    await this.#untilVotesCount(master);
    const done = ({ nodes }: ClusterView): boolean => ownsSlots(nodes, replica.port);
    // If the votes take longer than five seconds, the nodes give up without an error, so the failover is requested again.
    await eventually(async () => {
      if (!done(await viewOf(replica))) await withAdmin(replica, (admin) => admin.call('CLUSTER', 'FAILOVER'));
      await this.untilSettled(done, 6_000);
    }, PATIENCE);
    this.#failedOver.set(master.port, performance.now());
    return replica;
  }

  /**
   * Makes a replica the master without a vote of the other masters, which vote only once in two node timeouts. No write is lost if no
   * client writes meanwhile. Resolves with the new master when all live nodes agree on it.
   */
  async takeOver(master: RedisServer): Promise<RedisServer> {
    const replica = await this.#liveReplicaOf(master);
    await this.untilSettled();
    await this.untilReplicated(master);
    await withAdmin(replica, (admin) => admin.call('CLUSTER', 'FAILOVER', 'TAKEOVER'));
    await this.untilSettled(({ nodes }) => ownsSlots(nodes, replica.port));
    return replica;
  }

  /**
   * Waits until all live replicas of one master, or of all masters, have all writes. Call it before `killMaster()` if no write may be lost.
   */
  async untilReplicated(master?: RedisServer): Promise<void> {
    for (const each of master ? [master] : await this.masters()) {
      const replicas = (await this.replicasOf(each)).filter(({ live }) => live);
      await eventually(async () => {
        const written = await offsetOf(each);
        const copied = await Promise.all(replicas.map(offsetOf));
        if (copied.some((offset) => offset < written))
          throw new TestServerError(
            `RedisCluster: A replica of the master on port ${each.port} does not have all writes yet.`,
          );
      }, PATIENCE);
    }
  }

  /**
   * Kills a master with SIGKILL. Writes that the promoted replica does not have are lost. Resolves with this replica when all live
   * nodes agree on it, which takes longer than the node timeout.
   */
  async killMaster(master: RedisServer): Promise<RedisServer> {
    const candidates = (await this.replicasOf(master)).map(({ port }) => port);
    reportFault('failovers');
    await this.#untilVotesCount(master);
    await master.kill();
    const promoted = ({ nodes }: ClusterView): NodeView | undefined =>
      nodes.find(({ port, slots }) => candidates.includes(port) && slots.length > 0);
    await this.untilSettled((view) => promoted(view) !== undefined);
    return this.#serverOf(promoted(await this.#anyView()) as NodeView);
  }

  /** Moves a slot with its keys to another master. Resolves when all live nodes agree. */
  async migrateSlot(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
    await this.beginMigration(slot, from, to);
    await this.finishMigration(slot, from, to);
  }

  /** Begins to move a slot. Clients may get the replies ASK and TRYAGAIN until `finishMigration` or `cancelMigration`. */
  beginMigration(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
    return beginMigration(slot, from, to);
  }

  /** Moves at most `count` keys of a slot that is being moved. Default: all keys. Returns the number of moved keys. */
  migrateKeys(slot: number, from: RedisServer, to: RedisServer, count = Infinity): Promise<number> {
    return migrateKeys(slot, from, to, count);
  }

  /** Moves the remaining keys and the slot. Resolves when all live nodes agree. */
  async finishMigration(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
    await migrateKeys(slot, from, to, Infinity);
    const target = await giveSlot(slot, from, to);
    reportFault('slots moved');
    await this.untilSettled(({ nodes }) => nodes.some((node) => node.id === target && owns(node, slot)));
  }

  /** Cancels a migration: the slot stays with `from`. Keys that were moved already stay on `to`. */
  cancelMigration(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
    return endMigration(slot, from, to);
  }

  /**
   * Waits until all live nodes report that the Cluster is up, agree on all roles, see each other, and list all of them in CLUSTER SLOTS, which
   * clients read; until each replica follows its live master; and until `extra` returns true for what each node knows.
   */
  async untilSettled(extra: (view: ClusterView) => boolean = () => true, timeoutMs = 20_000): Promise<void> {
    const check = async (): Promise<void> => {
      const live = this.nodes.filter((node) => node.live);
      const views = await Promise.all(live.map(viewOf));
      const ports = new Set(live.map(({ port }) => port));
      const problem = views.map((view) => this.#problemOf(view, ports)).find((found) => found !== undefined);
      if (problem !== undefined) throw new TestServerError(problem);
      if (new Set(views.map(topologyOf)).size !== 1)
        throw new TestServerError('RedisCluster: The nodes do not agree yet which of them are masters.');
      if (!views.every(extra))
        throw new TestServerError('RedisCluster: Not all nodes have seen the change of the roles yet.');
    };
    await eventually(check, { timeoutMs, everyMs: POLL_MS });
  }

  /** Ends all nodes and removes their temporary directories. May be called any number of times. */
  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  /** The same as `stop()`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * Waits until the other masters can vote for a replica of this master again, which they do only once in two node timeouts. A refused vote
   * would cost five seconds or more.
   */
  async #untilVotesCount(master: RedisServer): Promise<void> {
    const mayBeAt = (this.#failedOver.get(master.port) ?? -Infinity) + 2 * this.nodeTimeoutMs + POLL_MS;
    await sleep(Math.max(0, mayBeAt - performance.now()));
  }

  #problemOf(view: ClusterView, live: ReadonlySet<number>): string | undefined {
    const who = `The node on port ${view.self.port}`;
    if (!view.stateOk) return `${who} reports that the Cluster is down.`;
    if (view.nodes.length !== this.nodes.length)
      return `${who} knows ${view.nodes.length} of ${this.nodes.length} nodes.`;
    const unseen = view.nodes.find((node) => live.has(node.port) && isFailing(node));
    if (unseen) return `${who} does not see the node on port ${unseen.port}.`;
    const stale = view.nodes.find(({ port, slots }) => slots.length > 0 && !live.has(port));
    if (stale) return `${who} still sees the node on port ${stale.port} as a master.`;
    const owners = new Set(view.nodes.filter(({ slots }) => slots.length > 0).map(({ id }) => id));
    const serving = view.nodes.filter(
      ({ id, masterId, port }) => live.has(port) && (owners.has(id) || owners.has(masterId)),
    );
    const unlisted = serving.find(({ port }) => !view.listed.has(port));
    if (unlisted) return `${who} does not list the node on port ${unlisted.port} in CLUSTER SLOTS yet.`;
    const master = view.nodes.find(({ id }) => id === view.self.masterId);
    if (master && live.has(master.port) && view.masterLink !== 'up') return `${who} does not follow its master yet.`;
    return undefined;
  }

  #anyView(): Promise<ClusterView> {
    const node = this.nodes.find(({ live }) => live);
    if (!node) throw new TestServerError('RedisCluster: No node is alive. Call restart() of one of its nodes.');
    return viewOf(node);
  }

  #serverOf({ port }: NodeView): RedisServer {
    const server = this.nodes.find((node) => node.port === port);
    if (!server) throw new TestServerError(`The node on port ${port} is not a node of this RedisCluster.`);
    return server;
  }

  async #liveReplicaOf(master: RedisServer): Promise<RedisServer> {
    const replica = (await this.replicasOf(master)).find(({ live }) => live);
    if (!replica)
      throw new TestServerError(
        `RedisCluster: The master on port ${master.port} has no live replica, so no failover is possible. Start a replica, or create the Cluster with replicas.`,
      );
    reportFault('failovers');
    return replica;
  }
}

function ownsSlots(nodes: readonly NodeView[], port: number): boolean {
  return nodes.some((node) => node.port === port && node.slots.length > 0);
}

/** Returns the replication offset of a node: the end of what a master has written, or of what a replica has received. */
async function offsetOf(node: RedisServer): Promise<number> {
  const info = await withAdmin(node, (admin) => admin.info('replication'));
  return Number(/(?:master|slave)_repl_offset:(\d+)/.exec(info)?.[1]);
}
