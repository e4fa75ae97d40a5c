import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { startFaultProxy, startRedis, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import { eventually } from '../../../test/support/wait';
import { openBench, quiet, type Bench, type BenchOptions } from './support';

/** The connection of a replica to its master. A fault proxy reads requests, which a replication stream is not. */
class Link {
  readonly host = '127.0.0.1';
  severed = false;
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((replica) => {
    const master = connect(this.masterPort, this.host);
    for (const [from, to] of [
      [replica, master],
      [master, replica],
    ] as const) {
      this.sockets.add(from);
      from.on('data', (data) => this.severed || to.write(data));
      from.on('error', () => to.destroy());
      from.on('close', () => this.sockets.delete(from) && to.destroy());
    }
  });

  private constructor(private readonly masterPort: number) {}

  static async to(master: RedisServer): Promise<Link> {
    const link = new Link(master.port);
    await once(link.server.listen(0, link.host), 'listening');
    return link;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  stop(): void {
    this.server.close();
    this.cut();
  }
}

/** A master with one replica whose link can be cut, behind one address that follows the master. */
export class FailingMaster {
  private readonly open: Bench[] = [];

  private constructor(
    private master: RedisServer,
    private replica: RedisServer,
    private link: Link,
    private readonly front: FaultProxy,
  ) {}

  static async start(): Promise<FailingMaster> {
    const master = await startRedis();
    const link = await Link.to(master);
    const replica = await startRedis({ replicaOf: link });
    return new FailingMaster(master, replica, link, await startFaultProxy(master));
  }

  /** Services of a process of its own. */
  async connect({ settings, ...options }: BenchOptions = {}): Promise<Bench> {
    const client = quiet(new Redis(this.front.port, { retryStrategy: () => 20 }));
    const replicated = { replicas: 1, replicasTimeoutMs: 150, ...settings };
    const bench = await openBench(client, { prefix: 'failover', settings: replicated, ...options });
    this.open.push(bench);
    return bench;
  }

  /** Cuts the link: the replica gets nothing more. */
  sever(): void {
    this.link.severed = true;
  }

  /** Restores the link. Resolves when the replica has what the master has. */
  async join(): Promise<void> {
    this.link.severed = false;
    this.link.cut();
    await this.replicated();
  }

  /** Kills the master, and promotes the replica. What the replica has not got is lost. */
  async failOver(): Promise<void> {
    await this.kill();
    await this.promote();
  }

  kill(): Promise<void> {
    return this.master.kill();
  }

  async promote(): Promise<void> {
    await this.replica.promote();
    this.front.target = this.replica;
    this.front.cut();
    await Promise.all(this.open.map(({ raw }) => eventually(() => raw.ping(), { timeoutMs: 20_000 })));
  }

  /** Gives the promoted master an empty replica, which then gets its data. */
  async addReplica(): Promise<void> {
    const [{ master: dead, link: old }, replica] = [this, this.replica];
    old.stop();
    await dead.stop();
    this.master = replica;
    this.link = await Link.to(replica);
    this.replica = await startRedis({ replicaOf: this.link });
    await this.replicated();
  }

  async stop(): Promise<void> {
    this.open.splice(0).forEach((bench) => bench.close());
    this.link.stop();
    await Promise.all([this.master.stop(), this.replica.stop(), this.front.stop()]);
  }

  /** Resolves when the replica has what the master has. */
  async replicated(): Promise<void> {
    const raw = quiet(new Redis(this.master.port));
    try {
      await raw.set('failover:probe', '1');
      await eventually(async () => expect(await raw.wait(1, 100)).toBe(1), { timeoutMs: 20_000 });
    } finally {
      raw.disconnect();
    }
  }
}

/** A ledger outside Redis: it pays a packet once, and a user once. */
export class PaidOnce {
  readonly users = new Map<string, { packetId: string; amountCents: number; grantedAtMs: number }>();
  readonly packets = new Map<string, string>();

  /** The payouts that were refused because the packet or the user was paid before. */
  readonly refused: string[] = [];

  /** A handler of payouts. */
  handlerFor({ packets }: Pick<Bench, 'packets'>) {
    return async ({
      activityId,
      userId,
      packetId,
      amountCents,
      grantedAtMs,
    }: Parameters<Parameters<Bench['payouts']['run']>[0]>[0]) => {
      const paid = this.users.get(userId);
      if (paid?.packetId === packetId) return;
      if (this.packets.has(packetId) || paid !== undefined) {
        this.refused.push(userId);
        const other = this.packets.has(packetId) ? {} : { paid };
        await packets.conflict(activityId, { userId, packetId, ...other });
        return;
      }
      this.users.set(userId, { packetId, amountCents, grantedAtMs });
      this.packets.set(packetId, userId);
    };
  }

  get rows(): { userId: string; packetId: string; amountCents: number }[] {
    return [...this.users].map(([userId, { packetId, amountCents }]) => ({ userId, packetId, amountCents }));
  }

  get cents(): number {
    return this.rows.reduce((sum, { amountCents }) => sum + amountCents, 0);
  }
}
