import { Redis } from 'ioredis';
import type { GrabResult } from 'luanest/red-packet';
import type { PaidPacket } from '../src/audit/audit.types';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { eventually } from '../../../test/support/wait';
import { figures, openBench, packetOf, quiet, type Bench } from './support';

describe('a win that replicas must confirm', () => {
  let master: RedisServer;
  let replica: RedisServer;
  const open: Bench[] = [];
  beforeEach(async () => {
    master = await startRedis();
    replica = await startRedis({ replicaOf: master });
    const raw = quiet(new Redis(master.port));
    await eventually(async () => expect(await raw.info('replication')).toContain('state=online'));
    raw.disconnect();
  });
  afterEach(async () => {
    open.splice(0).forEach((bench) => bench.close());
    await Promise.all([master.stop(), replica.stop()]);
  });

  async function connect(port: number, replicas: number): Promise<Bench> {
    const settings = { replicas, replicasTimeoutMs: 150 };
    const bench = await openBench(quiet(new Redis(port)), { prefix: 'confirm', settings });
    open.push(bench);
    return bench;
  }

  it.each([1, 2])(
    'is returned when they have it, is unconfirmed otherwise, and is confirmed by a repeat, with %d buckets',
    async (buckets) => {
      const { packets } = await connect(master.port, 1);
      await packets.create({ ...figures('a', 20), buckets });
      await eventually(async () => expect((await packets.grab('a', 'u')).status).toMatch(/^(already-)?won$/));
      replica.pause();
      const unconfirmed = { status: 'unconfirmed', retryAfterMs: expect.any(Number) };
      expect(await packets.grab('a', 'v')).toEqual(unconfirmed);
      // A repeat has written nothing of its own to wait for, unless it writes the same again.
      expect(await packets.grab('a', 'v')).toEqual(unconfirmed);
      const fresh = await connect(master.port, 1);
      expect(await fresh.packets.grab('a', 'v')).toEqual(unconfirmed);
      expect(await packets.status('a')).toMatchObject({ grantedPackets: 2, openPayouts: 2 });
      replica.resume();
      const settled = await eventually(async () => {
        const answer = await packets.grab('a', 'v');
        expect(answer.status).toBe('already-won');
        return answer;
      });
      expect(await packets.packetOf('a', 'v')).toEqual(packetOf(settled));
      expect(await packets.audit('a', { deep: true })).toMatchObject({ ok: true, problems: [] });
    },
  );

  it('survives a failover; an unconfirmed one may be lost, which the ledger detects', async () => {
    const careful = await connect(master.port, 1);
    const hasty = await connect(master.port, 0);
    await careful.packets.create({ ...figures('f', 60), split: 'equal' });
    const told = new Map<string, GrabResult>();
    const users = Array.from({ length: 20 }, (_, i) => `sure-${i}`);
    const tell = async (user: string): Promise<void> =>
      eventually(async () => {
        const answer = await careful.packets.grab('f', user);
        expect(answer.status).toMatch(/^(already-)?won$/);
        told.set(user, answer);
      });
    await Promise.all(users.map(tell));
    replica.pause();
    const lost: PaidPacket[] = [];
    for (let i = 0; i < 10; i++) {
      lost.push({ userId: `lost-${i}`, ...packetOf(await hasty.packets.grab('f', `lost-${i}`)) });
    }
    expect((await careful.packets.grab('f', 'unsure')).status).toBe('unconfirmed');
    // What the master had sent must not wait in the replica's socket.
    await master.kill();
    replica.resume();
    await replica.promote();
    const after = await connect(replica.port, 0);
    for (const [user, answer] of told) {
      expect(await after.packets.packetOf('f', user)).toEqual(packetOf(answer));
    }
    const survived = new Set(
      await Promise.all(lost.map(async ({ userId }) => ((await after.packets.packetOf('f', userId)) ? userId : ''))),
    );
    const rewound = lost.filter(({ userId }) => !survived.has(userId));
    const sure = [...told].map(([userId, answer]) => ({ userId, ...packetOf(answer) }));
    // The ledger had paid all of them.
    const report = await after.packets.audit('f', { ledger: [...sure, ...lost] });
    expect(report?.deep?.rewound).toEqual(rewound);
    // A packet that was paid before is granted to another user, who then gets another one.
    const paid = new Map([...sure, ...lost].map((row) => [row.packetId, row]));
    for (let i = 0; i < 15; i++) {
      let packet = packetOf(await after.packets.grab('f', `next-${i}`));
      while (paid.has(packet.packetId)) {
        const { now } = await after.packets.conflict('f', { userId: `next-${i}`, packetId: packet.packetId });
        packet = packetOf(now);
      }
      paid.set(packet.packetId, { userId: `next-${i}`, ...packet });
    }
    // So do those whose grants were lost: they keep what they were paid.
    for (const { userId, packetId } of rewound) {
      const again = packetOf(await after.packets.grab('f', userId));
      const told = { packetId, amountCents: 100, grantedAtMs: 1 };
      const { now } = await after.packets.conflict('f', { userId, packetId: again.packetId, paid: told });
      expect(packetOf(now)).toEqual(told);
    }
    expect(new Set([...paid.values()].map(({ userId }) => userId)).size).toBe(paid.size);
    const end = await after.packets.audit('f', { deep: true });
    expect(end).toMatchObject({ ok: true, problems: [] });
  });
});
