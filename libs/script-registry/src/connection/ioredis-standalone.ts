import type { Redis } from 'ioredis';
import { DedicatedConnections } from './dedicated-connections';
import { IoredisNode, openDedicated } from './ioredis-node';
import { openSubscriber } from './ioredis-subscriber';
import type {
  ChannelEvents,
  ChannelSubscriber,
  CommandArg,
  DedicatedConnection,
  RedisConnection,
  RedisNode,
} from './port';

/** Connection to a single server, or to the current master of a Sentinel group. */
export class IoredisStandalone implements RedisConnection {
  readonly clustered = false;
  private readonly node: IoredisNode;
  private readonly own = new DedicatedConnections();

  constructor(private readonly client: Redis) {
    this.node = new IoredisNode(client, 'master');
  }

  nodes(): readonly RedisNode[] {
    return [this.node];
  }

  lostMasters(): readonly string[] {
    return [];
  }

  nodeFor(): RedisNode {
    return this.node;
  }

  sendRouted(name: string, args: CommandArg[], resent?: () => void): Promise<unknown> {
    return this.node.send(name, args, resent);
  }

  refresh(): void {
    this.node.connect();
  }

  dedicated(node: RedisNode): Promise<DedicatedConnection> {
    return this.own.get(node.id, (ended) => openDedicated(this.client, ended));
  }

  subscriber(_: RedisNode, on: ChannelEvents): Promise<ChannelSubscriber> {
    return openSubscriber(this.client, on);
  }

  listen(listener: (event: 'ready' | 'topology' | 'down', node?: RedisNode) => void): () => void {
    this.node.onStatus((event) => listener(event, this.node));
    this.node.connect();
    return () => this.node.forget();
  }

  close(): void {
    this.node.forget();
    this.own.close();
  }
}
