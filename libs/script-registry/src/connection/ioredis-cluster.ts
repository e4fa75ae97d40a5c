import type { Cluster, Redis } from 'ioredis';
import { DedicatedConnections } from './dedicated-connections';
import { commandFor, IoredisNode, openDedicated, routedFailureOf, wasResent, watchRouting } from './ioredis-node';
import { openSubscriber } from './ioredis-subscriber';
import {
  type ChannelEvents,
  type ChannelSubscriber,
  type CommandArg,
  CommandFailure,
  type DedicatedConnection,
  type Receiver,
  type RedisConnection,
  type RedisNode,
} from './port';
import { passText } from './replies';

type Listener = (event: 'ready' | 'topology' | 'down', node?: RedisNode) => void;

/** Message of the error with which ioredis rejects a command when its connection closes. It does not show if the command was written. */
const CLOSED = 'Connection is closed.';

/**
 * Connection to one node of a Cluster. If the connection closes before the reply to a script, the script is sent again through the Cluster
 * client, which chooses a node. Commands of ioredis behave in the same way. The client's option `autoResendUnfulfilledCommands: false` in
 * `redisOptions` prevents this.
 */
class ClusterNode extends IoredisNode {
  constructor(
    client: Redis,
    role: 'master' | 'replica',
    private readonly resend: ((name: string, args: CommandArg[]) => Promise<unknown>) | undefined,
  ) {
    super(client, role);
  }

  override run(name: string, args: CommandArg[], receiver: Receiver): void {
    const { resend } = this;
    // Other commands, such as SCRIPT LOAD, are meant for this node, so another node must not get them.
    if (resend === undefined || !name.startsWith('EVAL')) return super.run(name, args, receiver);
    // The client of one node does not reconnect by itself, so it writes a command only once, and `resent` is never called.
    super.run(name, args, {
      replied: (reply) => receiver.replied(reply),
      failed: (failure) => {
        if (failure.kind !== 'lost' || failure.message !== CLOSED) return receiver.failed(failure);
        resend(name, args).then(
          (reply) => {
            receiver.resent?.();
            receiver.replied(reply);
          },
          (again: CommandFailure) => receiver.failed(new CommandFailure(again.kind, again.message, true)),
        );
      },
    });
  }
}

/**
 * Handles errors of ASKING. ioredis sends ASKING before a command that a node has redirected with ASK, and ignores its promise. If the
 * connection closes before the reply, the error would otherwise end the process. The command itself fails or is sent again.
 */
function handleAsking(client: Redis): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called with the client below
  const { asking } = client;
  client.asking = () => {
    const answer = asking.call(client);
    answer.catch(() => undefined);
    return answer;
  };
}

export class IoredisCluster implements RedisConnection {
  readonly clustered = true;
  private readonly resends: boolean;
  private readonly byClient = new Map<Redis, ClusterNode>();
  private byId: Map<string, ClusterNode> | undefined;
  private readonly own = new DedicatedConnections();
  private readonly listeners = new Set<Listener>();
  private readonly stop: () => void;

  constructor(private readonly client: Cluster) {
    this.resends = client.options.redisOptions?.autoResendUnfulfilledCommands !== false;
    const topology = (): void => this.changed('topology');
    const down = (): void => this.changed('down');
    const events = { ready: topology, '+node': topology, '-node': topology, refresh: topology, close: down, end: down };
    for (const [event, handler] of Object.entries(events)) client.on(event, handler);
    this.stop = () => {
      for (const [event, handler] of Object.entries(events)) client.off(event, handler);
    };
  }

  nodes(): readonly RedisNode[] {
    return [...this.table().values()];
  }

  lostMasters(): readonly string[] {
    // The list of slots is empty until a node of the Cluster has sent it.
    if (this.client.slots.length === 0) return ['the masters of all slots'];
    const owners = new Set<string>();
    // The array of slots has gaps, which forEach skips.
    this.client.slots.forEach(([master]) => master !== undefined && owners.add(master));
    return [...owners].filter((id) => !this.table().has(id));
  }

  nodeFor(slot: number): RedisNode | undefined {
    if (this.client.slots.length === 0) return undefined;
    const id = this.client.slots[slot]?.[0];
    // If the client knows no master for this hash slot, any ready master gets the command. That master runs the script, or replies MOVED or
    // CLUSTERDOWN.
    if (id !== undefined) return this.table().get(id);
    return this.client.status === 'ready'
      ? this.nodes().find((node) => node.role === 'master' && node.ready)
      : undefined;
  }

  async sendRouted(name: string, args: CommandArg[], resent?: () => void): Promise<unknown> {
    const [anyNode] = this.client.nodes();
    if (this.client.status !== 'ready' || anyNode === undefined) {
      throw new CommandFailure('not-sent', 'the Cluster is not connected, or not ready yet');
    }
    const command = commandFor(anyNode, name, args);
    watchRouting(command, this.resends);
    return new Promise((replied, failed) => {
      const refuse = (error: unknown): void => failed(routedFailureOf(command, error));
      try {
        const answer = this.client.sendCommand(command) as Promise<unknown>;
        answer.then((reply) => {
          if (wasResent(command)) resent?.();
          if (Buffer.isBuffer(reply)) passText(reply, { replied, failed });
          else replied(reply);
        }, refuse);
      } catch (error) {
        refuse(error);
      }
    });
  }

  refresh(): void {
    if (this.client.status === 'wait') this.client.connect().catch(() => undefined);
    else if (this.client.status === 'ready') this.client.refreshSlotsCache(() => undefined);
    for (const node of this.nodes()) node.connect();
  }

  dedicated(node: RedisNode): Promise<DedicatedConnection> {
    return this.own.get(node.id, (ended) => openDedicated((node as ClusterNode).client, ended));
  }

  subscriber(node: RedisNode, on: ChannelEvents): Promise<ChannelSubscriber> {
    return openSubscriber((node as ClusterNode).client, on);
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

  private changed(event: 'topology' | 'down'): void {
    this.byId = undefined;
    for (const node of this.nodes()) node.connect();
    for (const listener of this.listeners) listener(event);
  }

  private table(): Map<string, ClusterNode> {
    if (this.byId) return this.byId;
    const present = new Map<Redis, ClusterNode>();
    for (const [role, clients] of [
      ['master', this.client.nodes('master')],
      ['replica', this.client.nodes('slave')],
    ] as const) {
      for (const client of clients) present.set(client, this.adopt(client, role));
    }
    for (const [client, node] of this.byClient) if (!present.has(client)) node.forget();
    this.byClient.clear();
    for (const [client, node] of present) this.byClient.set(client, node);
    this.byId = new Map([...present.values()].map((node) => [node.id, node]));
    return this.byId;
  }

  private adopt(client: Redis, role: 'master' | 'replica'): ClusterNode {
    const known = this.byClient.get(client);
    if (known?.role === role) return known;
    known?.forget();
    if (known === undefined) handleAsking(client);
    const node = new ClusterNode(client, role, this.resends ? (name, args) => this.sendRouted(name, args) : undefined);
    node.onStatus((event) => {
      for (const listener of this.listeners) listener(event, node);
    });
    return node;
  }
}
