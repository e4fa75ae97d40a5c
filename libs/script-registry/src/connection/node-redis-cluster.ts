import { setTimeout as pause } from 'node:timers/promises';
import { slotOf } from '../../../internal/src';
import { DedicatedConnections } from './dedicated-connections';
import { destroy, type NodeRedisClient, NodeRedisNode, openDedicated, openSubscriber } from './node-redis-node';
import {
  type ChannelEvents,
  type ChannelSubscriber,
  type CommandArg,
  CommandFailure,
  type DedicatedConnection,
  type RedisConnection,
  type RedisNode,
} from './port';
import { isRedirect } from './server-errors';

type Listener = (event: 'ready' | 'topology' | 'down', node?: RedisNode) => void;

interface ClusterMember {
  readonly address: string;
  /** Client of this node. With the option `minimizeConnections` of node-redis, it is undefined until the first call of `nodeClient`. */
  readonly client?: NodeRedisClient | undefined;
}

/** The part of a Cluster client of node-redis that luanest uses. */
export interface NodeRedisCluster {
  readonly isOpen: boolean;
  readonly slots: readonly ({ readonly master: ClusterMember } | undefined)[];
  readonly masters: readonly ClusterMember[];
  readonly replicas: readonly ClusterMember[];
  readonly nodeByAddress: ReadonlyMap<string, ClusterMember>;
  nodeClient(member: ClusterMember): Promise<unknown>;
  connect(): Promise<unknown>;
  destroy(): void;
  /** Private object of node-redis. No public method makes a client read the hash slots again. */
  readonly _slots: { rediscover(from: NodeRedisClient): Promise<unknown> };
  on(event: string, listener: (...args: never[]) => void): unknown;
  off(event: string, listener: (...args: never[]) => void): unknown;
}

/** A command is redirected at most MAX_REDIRECTIONS times. After TRYAGAIN or CLUSTERDOWN, it is sent again RETRY_MS later. */
const MAX_REDIRECTIONS = 16;
const RETRY_MS = 100;

const TOPOLOGY = ['connect', 'node-connect', 'node-ready', 'node-disconnect'];
const DOWN = ['error', 'node-error', 'node-reconnecting', 'disconnect'];

export class NodeRedisClusterConnection implements RedisConnection {
  readonly clustered = true;
  private readonly byClient = new Map<NodeRedisClient, NodeRedisNode>();
  private readonly own = new DedicatedConnections();
  private readonly listeners = new Set<Listener>();
  private readonly stop: () => void;
  private byAddress: ReadonlyMap<string, NodeRedisNode> | undefined;
  /** Array of masters from which `byAddress` was made. The client creates a new array whenever it reads the hash slots. */
  private mastersThen: unknown;
  private mayConnect: boolean;

  constructor(private readonly cluster: NodeRedisCluster) {
    this.mayConnect = !cluster.isOpen;
    const topology = (): void => this.changed('topology');
    const down = (): void => this.changed('down');
    for (const event of TOPOLOGY) cluster.on(event, topology);
    for (const event of DOWN) cluster.on(event, down);
    this.stop = () => {
      for (const event of TOPOLOGY) cluster.off(event, topology);
      for (const event of DOWN) cluster.off(event, down);
    };
  }

  nodes(): readonly RedisNode[] {
    return [...this.table().values()];
  }

  lostMasters(): readonly string[] {
    if (this.cluster.masters.length === 0) return ['the masters of all slots'];
    const table = this.table();
    return this.cluster.masters.map(({ address }) => address).filter((address) => !table.has(address));
  }

  nodeFor(slot: number): RedisNode | undefined {
    if (this.cluster.masters.length === 0) return undefined;
    const master = this.cluster.slots[slot]?.master;
    if (master) return this.table().get(master.address);
    // No master of this slot is known, so any master gets the command. It runs the script, or replies MOVED or CLUSTERDOWN.
    return this.nodes().find((node) => node.role === 'master' && node.ready);
  }

  /**
   * Sends a command to the master of its first key, and follows redirections. node-redis also follows redirections, but it would take an
   * error that a script raises, such as MOVED, for a redirection, and run the script again.
   */
  async sendRouted(name: string, args: CommandArg[]): Promise<unknown> {
    const slot = Number(args[1]) > 0 ? slotOf(String(args[2])) : 0;
    let node = this.nodeFor(slot) as NodeRedisNode | undefined;
    let isAsk = false;
    for (let redirections = 0; ; redirections++) {
      if (node === undefined) throw new CommandFailure('not-sent', 'the Cluster is not connected, or not ready yet');
      try {
        return await (isAsk ? node.sendAsking(name, args) : node.send(name, args));
      } catch (error) {
        const failure = error as CommandFailure;
        const { kind, code, message } = failure;
        if (kind !== 'reply' || !isRedirect(message) || code === 'CROSSSLOT' || redirections === MAX_REDIRECTIONS)
          throw failure;
        isAsk = code === 'ASK';
        if (isAsk || code === 'MOVED') node = await this.nodeAt(message.slice(message.lastIndexOf(' ') + 1));
        else {
          await pause(RETRY_MS);
          node = this.nodeFor(slot) as NodeRedisNode | undefined;
        }
      }
    }
  }

  refresh(): void {
    if (!this.cluster.isOpen) {
      if (this.mayConnect) this.cluster.connect().catch(() => undefined);
    } else void this.rediscover();
    this.mayConnect = false;
  }

  dedicated(node: RedisNode): Promise<DedicatedConnection> {
    return this.own.get(node.id, (ended) => openDedicated((node as NodeRedisNode).client, ended));
  }

  subscriber(node: RedisNode, on: ChannelEvents): Promise<ChannelSubscriber> {
    return openSubscriber((node as NodeRedisNode).client, on);
  }

  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    this.refresh();
    return () => void this.listeners.delete(listener);
  }

  close(): void {
    this.stop();
    for (const node of this.byClient.values()) node.forget();
    this.own.close();
  }

  private async nodeAt(address: string): Promise<NodeRedisNode | undefined> {
    if (!this.cluster.nodeByAddress.has(address)) await this.rediscover();
    return this.table().get(address);
  }

  private async rediscover(): Promise<void> {
    const from = [...this.table().values()].find(({ ready }) => ready);
    if (from === undefined) return;
    await this.cluster._slots.rediscover(from.client).catch(() => undefined);
    // The app may have closed the client in the meantime. node-redis has opened new connections nevertheless, which must be closed.
    if (!this.cluster.isOpen) return destroy(this.cluster);
    this.changed('topology');
  }

  private changed(event: 'topology' | 'down'): void {
    this.byAddress = undefined;
    for (const listener of this.listeners) listener(event);
  }

  private table(): ReadonlyMap<string, NodeRedisNode> {
    if (this.byAddress && this.mastersThen === this.cluster.masters) return this.byAddress;
    this.mastersThen = this.cluster.masters;
    const table = new Map<string, NodeRedisNode>();
    for (const [role, members] of [
      ['master', this.cluster.masters],
      ['replica', this.cluster.replicas],
    ] as const) {
      for (const member of members) {
        const node = this.adopt(member, role);
        if (node) table.set(member.address, node);
      }
    }
    const present = new Set(table.values());
    for (const [client, node] of this.byClient) {
      if (present.has(node)) continue;
      node.forget();
      this.byClient.delete(client);
    }
    return (this.byAddress = table);
  }

  private adopt(member: ClusterMember, role: 'master' | 'replica'): NodeRedisNode | undefined {
    const { client } = member;
    if (!client) {
      this.cluster.nodeClient(member).then(
        () => this.changed('topology'),
        () => undefined,
      );
      return undefined;
    }
    const known = this.byClient.get(client);
    if (known?.role === role) return known;
    known?.forget();
    const node = new NodeRedisNode(client, role);
    this.byClient.set(client, node);
    node.onStatus((event) => {
      for (const listener of this.listeners) listener(event, node);
    });
    return node;
  }
}
