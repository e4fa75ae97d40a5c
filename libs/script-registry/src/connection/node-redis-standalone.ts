import { DedicatedConnections } from './dedicated-connections';
import { type NodeRedisClient, NodeRedisNode, openDedicated, openSubscriber } from './node-redis-node';
import {
  type ChannelEvents,
  type ChannelSubscriber,
  type CommandArg,
  CommandFailure,
  type DedicatedConnection,
  type RedisConnection,
  type RedisNode,
} from './port';

type Listener = (event: 'ready' | 'topology' | 'down', node?: RedisNode) => void;

/** The part of a Sentinel client of node-redis that luanest uses. */
export interface NodeRedisSentinel {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  /** Calls `work` with the client of the current master, as soon as this client is connected. */
  _execute<T>(isReadonly: boolean, work: (master: NodeRedisClient) => Promise<T>): Promise<T>;
  getMasterNode(): unknown;
  on(event: string, listener: (...args: never[]) => void): unknown;
  off(event: string, listener: (...args: never[]) => void): unknown;
}

/** Connection to a single server. */
export class NodeRedisStandalone implements RedisConnection {
  readonly clustered = false;
  protected node: NodeRedisNode | undefined;
  protected readonly listeners = new Set<Listener>();
  private readonly own = new DedicatedConnections();

  constructor(client?: NodeRedisClient) {
    if (client) this.use(client);
  }

  nodes(): readonly RedisNode[] {
    return this.node ? [this.node] : [];
  }

  lostMasters(): readonly string[] {
    return this.node ? [] : ['the master of Sentinel'];
  }

  nodeFor(): RedisNode | undefined {
    return this.node;
  }

  sendRouted(name: string, args: CommandArg[]): Promise<unknown> {
    if (this.node) return this.node.send(name, args);
    return Promise.reject(new CommandFailure('not-sent', 'the master of Sentinel is not connected'));
  }

  refresh(): void {
    this.node?.connect();
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
    this.node?.forget();
    this.own.close();
  }

  protected use(client: NodeRedisClient): void {
    if (this.node?.client === client) return;
    this.node?.forget();
    const node = new NodeRedisNode(client, 'master');
    this.node = node;
    node.onStatus((event) => this.report(event, node));
  }

  protected report(event: 'ready' | 'topology' | 'down', node?: RedisNode): void {
    for (const listener of this.listeners) listener(event, node);
  }
}

/**
 * Connection to the current master of a Sentinel group. Commands go through the client of that master. The Sentinel client would send a
 * command again after a lost reply, without reporting this.
 */
export class NodeRedisSentinelConnection extends NodeRedisStandalone {
  private readonly stop: () => void;
  private mayConnect: boolean;
  private adopting: Promise<void> | undefined;
  private closed = false;

  constructor(private readonly sentinel: NodeRedisSentinel) {
    super();
    this.mayConnect = !sentinel.isOpen;
    const topology = (): void => this.adopt();
    const down = (): void => this.report('down', this.node);
    const events = { 'topology-change': topology, ready: topology, 'client-error': down, error: down };
    for (const [event, handler] of Object.entries(events)) sentinel.on(event, handler);
    this.stop = () => {
      for (const [event, handler] of Object.entries(events)) sentinel.off(event, handler);
    };
    this.adopt();
  }

  override refresh(): void {
    if (this.mayConnect && !this.sentinel.isOpen) {
      this.sentinel.connect().then(
        () => this.adopt(),
        () => undefined,
      );
    } else this.adopt();
    this.mayConnect = false;
  }

  override close(): void {
    this.closed = true;
    this.stop();
    super.close();
  }

  /**
   * Gets the client of the current master, and uses it from now on. If Sentinel replaces the master meanwhile, an event calls this method
   * again.
   */
  private adopt(): void {
    if (this.closed || !this.sentinel.isOpen) return;
    this.adopting ??= this.sentinel
      ._execute(false, (client) => Promise.resolve(client))
      .then(
        (client) => {
          if (this.closed || this.node?.client === client) return;
          this.use(client);
          this.report('topology');
          if (this.node?.ready === true) this.report('ready', this.node);
        },
        () => undefined,
      )
      .finally(() => (this.adopting = undefined));
  }
}
