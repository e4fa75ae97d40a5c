import calculateSlot from 'cluster-key-slot';
import { type Address, withAdmin } from './admin';
import { joinNodes, startNodes } from './cluster-build';
import { type ClusterView, type NodeView, isFailing, owns, topologyOf, viewOf } from './cluster-view';
import { note } from './fault-notes';
import type { RedisServer } from './redis-server';
import { eventually, sleep } from './wait';

const POLL_MS = 40;
/** Limit for a planned failover, which may have to be requested several times. */
const PATIENCE = { timeoutMs: 20_000 };

export interface RedisClusterOptions {
  /** Default 3. */
  masters?: number;
  /** Number of replicas of each master. Default 1. */
  replicas?: number;
  /** How long a node may be silent before it counts as failing, ms. Default 1,000. */
  nodeTimeoutMs?: number;
  args?: readonly string[];
}

/** A real Redis Cluster on 127.0.0.1. */
export class RedisCluster {
  /** Time of the last planned failover of each master, by the master's port. */
  readonly #failedOver = new Map<number, number>();

  private constructor(
    readonly nodes: readonly RedisServer[],
    private readonly nodeTimeoutMs: number,
  ) {}

  static async start(options: RedisClusterOptions = {}): Promise<RedisCluster> {
    const { masters = 3, replicas = 1, nodeTimeoutMs = 1_000, args = [] } = options;
    const nodes = await startNodes(masters * (1 + replicas), nodeTimeoutMs, args);
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

  get startupNodes(): Address[] {
    return this.nodes.map(({ host, port }) => ({ host, port }));
  }

  async masters(): Promise<RedisServer[]> {
    const view = await this.#anyView();
    return view.nodes.filter(({ slots }) => slots.length > 0).map((node) => this.#serverOf(node));
  }

  /** The master of a slot (number) or of a key (string). */
  async masterOf(slotOrKey: number | string): Promise<RedisServer> {
    const slot = typeof slotOrKey === 'number' ? slotOrKey : calculateSlot(slotOrKey);
    const owner = (await this.#anyView()).nodes.find((node) => owns(node, slot));
    if (!owner) throw new Error(`No node owns slot ${slot}.`);
    return this.#serverOf(owner);
  }

  async replicasOf(master: RedisServer): Promise<RedisServer[]> {
    const { nodes } = await this.#anyView();
    const id = nodes.find(({ port }) => port === master.port)?.id;
    return nodes.filter(({ masterId }) => masterId === id).map((node) => this.#serverOf(node));
  }

  /** Makes a planned failover, which loses no write. Returns the new master when all live nodes agree on it. */
  async failover(master: RedisServer): Promise<RedisServer> {
    const replica = (await this.replicasOf(master)).find(({ live }) => live);
    if (!replica) throw new Error(`The master on port ${master.port} has no live replica.`);
    note('failovers');
    await this.untilSettled();
    await this.#untilVotesCount(master);
    const done = ({ nodes }: ClusterView): boolean =>
      nodes.some(({ port, slots }) => port === replica.port && slots.length > 0);
    // The nodes give up a failover without an error if the votes do not arrive within five seconds.
    await eventually(async () => {
      if (!done(await viewOf(replica))) await withAdmin(replica, (admin) => admin.call('CLUSTER', 'FAILOVER'));
      await this.untilSettled(done, 6_000);
    }, PATIENCE);
    this.#failedOver.set(master.port, performance.now());
    return replica;
  }

  /**
   * Makes a replica the master without a vote of the other masters, which allow only one vote in two node timeouts. Loses no
   * write if nobody writes meanwhile. Returns the new master when all live nodes agree on it.
   */
  async takeOver(master: RedisServer): Promise<RedisServer> {
    const replica = (await this.replicasOf(master)).find(({ live }) => live);
    if (!replica) throw new Error(`The master on port ${master.port} has no live replica.`);
    note('failovers');
    await this.untilSettled();
    const offsetOf = async (node: RedisServer): Promise<string | undefined> =>
      /master_repl_offset:(\d+)/.exec(await withAdmin(node, (admin) => admin.info('replication')))?.[1];
    await eventually(async () => {
      const written = await offsetOf(master);
      if (written === undefined || (await offsetOf(replica)) !== written) throw new Error('The replica lags behind.');
    });
    await withAdmin(replica, (admin) => admin.call('CLUSTER', 'FAILOVER', 'TAKEOVER'));
    await this.untilSettled(({ nodes }) => nodes.some(({ port, slots }) => port === replica.port && slots.length > 0));
    return replica;
  }

  /** Kills a master with SIGKILL. Returns the promoted replica when all live nodes agree on it. */
  async killMaster(master: RedisServer): Promise<RedisServer> {
    const candidates = (await this.replicasOf(master)).map(({ port }) => port);
    note('failovers');
    await this.#untilVotesCount(master);
    await master.kill();
    const promoted = ({ nodes }: ClusterView): NodeView | undefined =>
      nodes.find(({ port, slots }) => candidates.includes(port) && slots.length > 0);
    await this.untilSettled((view) => promoted(view) !== undefined);
    return this.#serverOf(promoted(await this.#anyView()) as NodeView);
  }

  /** Moves a slot with its keys. With `finish: false` it stops in the middle, where clients get ASK and TRYAGAIN. */
  async migrateSlot(
    slot: number,
    from: RedisServer,
    to: RedisServer,
    options: { finish?: boolean } = {},
  ): Promise<void> {
    await this.beginMigration(slot, from, to);
    if (options.finish ?? true) await this.finishMigration(slot, from, to);
  }

  async beginMigration(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
    await this.#setSlot(to, slot, 'IMPORTING', await this.#idOf(from));
    await this.#setSlot(from, slot, 'MIGRATING', await this.#idOf(to));
  }

  /** Moves at most `count` keys of a slot, by default all. Returns how many it moved. */
  migrateKeys(slot: number, from: RedisServer, to: RedisServer, count = Infinity): Promise<number> {
    return withAdmin(from, async (admin) => {
      let moved = 0;
      while (moved < count) {
        const batch = Math.min(count - moved, 100);
        const keys = (await admin.callBuffer('CLUSTER', 'GETKEYSINSLOT', slot, batch)) as Buffer[];
        if (keys.length === 0) break;
        await admin.call('MIGRATE', to.host, to.port, '', 0, 5_000, 'KEYS', ...keys);
        moved += keys.length;
      }
      return moved;
    });
  }

  /** Moves the remaining keys and the slot. Resolves when all live nodes agree. */
  async finishMigration(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
    await this.migrateKeys(slot, from, to);
    const target = await this.#idOf(to);
    await this.#setSlot(to, slot, 'NODE', target); // first, or the slot would have no owner if this stopped half-way
    await this.#setSlot(from, slot, 'NODE', target);
    note('slots moved');
    await this.untilSettled(({ nodes }) => nodes.some((node) => node.id === target && owns(node, slot)));
  }

  /** Ends a migration: the slot stays with `from`. Keys that have moved already stay on `to`. */
  async cancelMigration(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
    await this.#setSlot(from, slot, 'STABLE');
    await this.#setSlot(to, slot, 'STABLE');
  }

  /**
   * Waits until all live nodes report that the Cluster is up, agree on all roles, see each other and, if they are replicas,
   * follow their live master; and until `extra` returns true for the view of each node.
   */
  async untilSettled(extra: (view: ClusterView) => boolean = () => true, timeoutMs = 20_000): Promise<void> {
    const check = async (): Promise<void> => {
      const live = this.nodes.filter((node) => node.live);
      const views = await Promise.all(live.map(viewOf));
      const ports = new Set(live.map(({ port }) => port));
      const problem = views.map((view) => this.#problemOf(view, ports)).find((found) => found !== undefined);
      if (problem !== undefined) throw new Error(problem);
      if (new Set(views.map(topologyOf)).size !== 1) throw new Error('The nodes disagree on the roles.');
      if (!views.every(extra)) throw new Error('Not all nodes have seen the change yet.');
    };
    await eventually(check, { timeoutMs, everyMs: POLL_MS });
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  /**
   * Waits until the masters vote for a replica of this master again: they do so only once in two node timeouts. A refused vote
   * costs five seconds or more.
   */
  async #untilVotesCount(master: RedisServer): Promise<void> {
    const mayBeAt = (this.#failedOver.get(master.port) ?? -Infinity) + 2 * this.nodeTimeoutMs + POLL_MS;
    await sleep(Math.max(0, mayBeAt - performance.now()));
  }

  #problemOf(view: ClusterView, live: ReadonlySet<number>): string | undefined {
    const who = `The node on port ${view.self.port}`;
    if (!view.stateOk) return `${who} reports that the Cluster is down.`;
    if (view.nodes.length !== this.nodes.length) return `${who} knows ${view.nodes.length} nodes.`;
    const unseen = view.nodes.find((node) => live.has(node.port) && isFailing(node));
    if (unseen) return `${who} does not see the node on port ${unseen.port}.`;
    const stale = view.nodes.find(({ port, slots }) => slots.length > 0 && !live.has(port));
    if (stale) return `${who} takes the node on port ${stale.port} for a master.`;
    const master = view.nodes.find(({ id }) => id === view.self.masterId);
    if (master && live.has(master.port) && view.masterLink !== 'up') return `${who} does not follow its master yet.`;
    return undefined;
  }

  #anyView(): Promise<ClusterView> {
    const node = this.nodes.find(({ live }) => live);
    if (!node) throw new Error('No node of the Cluster is alive.');
    return viewOf(node);
  }

  #serverOf({ port }: NodeView): RedisServer {
    const server = this.nodes.find((node) => node.port === port);
    if (!server) throw new Error(`The node on port ${port} is not a node of this RedisCluster.`);
    return server;
  }

  async #idOf(node: RedisServer): Promise<string> {
    return (await viewOf(node)).self.id;
  }

  async #setSlot(node: RedisServer, slot: number, ...how: string[]): Promise<void> {
    await withAdmin(node, (admin) => admin.call('CLUSTER', 'SETSLOT', slot, ...how));
  }
}
