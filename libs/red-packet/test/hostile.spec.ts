import { RequestMethod } from '@nestjs/common';
import { RedPacketController, type RedPacketService } from 'luanest/red-packet';
import { OnceModule } from 'luanest/once';
import { StreamConsumerModule } from 'luanest/stream-consumer';
import { guardsOf, routesOf } from '../../../test/support/routes';
import { HOSTILE_IDS, hostileValues, isPolluted } from '../../../test/support/hostile';
import { RedPacketPayoutsController } from '../src/payouts/payouts.controller';
import { RedPacketAdminGuard } from '../src/red-packet.guard';
import { admin, figures, HttpBench, identity, isAdmin, platforms } from './http-bench';
import { openBench, payAll, servers } from './support';

/** Public routes. All other routes are for admins. */
const PUBLIC = ['POST :activityId/grab', 'GET :activityId', 'GET :activityId/mine', 'GET :activityId/results'];
const ROUTES = [RedPacketController, RedPacketPayoutsController].flatMap((controller) => routesOf(controller));

it('every route is guarded but those that are named here', () => {
  expect(ROUTES.length).toBeGreaterThan(10);
  for (const route of ROUTES) {
    const guarded = guardsOf(route).includes(RedPacketAdminGuard);
    expect([route.name, guarded]).toEqual([route.name, !PUBLIC.includes(route.name)]);
  }
  expect(ROUTES.filter(({ name }) => PUBLIC.includes(name))).toHaveLength(PUBLIC.length);
});

describe.each(platforms)('strangers on %s', (_name, adapter) => {
  let http: HttpBench;
  beforeAll(() => {
    http = HttpBench.open(adapter);
  });
  afterAll(() => http.close());

  it('are let into no route for admins, with or without a guard, whatever they send', async () => {
    const others = () => [
      StreamConsumerModule.forRoot({}),
      OnceModule.forRoot({ idempotency: { subject: () => 'x', required: false } }),
    ];
    const headers = { 'x-user': 'u', 'x-admin': 'no', authorization: 'Bearer x', 'idempotency-key': 'k' };
    for (const options of [{ identity }, { identity, adminGuard: { canActivate: isAdmin } }]) {
      await http.serve(options, undefined, others());
      await http.service.create({ ...figures, activityId: 'a' });
      for (const { name, method, path } of ROUTES) {
        if (PUBLIC.includes(name)) continue;
        const where = path === '' ? '' : `/${path.replace(':activityId', 'a')}`;
        const { status } = await http.call(
          RequestMethod[method],
          where,
          headers,
          method === RequestMethod.GET ? undefined : {},
        );
        expect([name, status]).toEqual([name, 403]);
      }
    }
  });

  it('get 400 for bodies that make no sense, and none changes another object', async () => {
    await http.serve({ identity, adminGuard: { canActivate: isAdmin } }, undefined, [StreamConsumerModule.forRoot({})]);
    await http.service.create({ ...figures, activityId: 'b' });
    // What is nested so deeply that no JSON can be made of it comes as text, below.
    for (const value of hostileValues().filter(isPlain)) {
      for (const field of ['activityId', 'totalCents', 'packets', 'split', 'amounts', 'buckets', 'total']) {
        // These are amounts and counts like any other.
        if (typeof value === 'number' || value === null) continue;
        const { status, body } = await http.create({ ...figures, activityId: 'c', [field]: value });
        expect([field, status]).toEqual([field, 400]);
        expect(String(body['message']).length).toBeLessThan(400);
      }
      const replay = await http.call('POST', '/b/payouts/replay', admin, { ids: value });
      expect([400, 200]).toContain(replay.status);
      if (typeof value !== 'object' || value === null) expect(replay.status).toBe(400);
    }
    for (const query of [
      'cursor=0:99999999999999999999-1',
      'cursor=7:1-1&cursor=1',
      'cursor=7:1-1',
      'cursor=x',
      'limit=501',
      'limit=1e3',
      'limit=1&limit=2',
    ]) {
      const { status, body } = await http.call('GET', `/b/payouts/dead-letters?${query}`, admin);
      expect([query, status, body['message']]).toEqual([
        query,
        400,
        expect.stringMatching(new RegExp(`^${query.split('=')[0]} is `)),
      ]);
    }
    await http.service.grab('b', 'u');
    const queries = ['cursor=-1', 'cursor=1@99', 'cursor=0&cursor=1', 'limit=0', 'limit=1e3', 'limit=1&limit=2'];
    for (const query of queries) {
      const { status } = await http.call('GET', `/b/results?${query}`, { 'x-user': 'u' });
      expect([query, status]).toEqual([query, 400]);
    }
    const deep = '['.repeat(30_000) + ']'.repeat(30_000);
    for (const body of [deep, `{"activityId":"c","totalCents":1,"packets":${deep}}`, '{"a', '"text"', 'null']) {
      const { status } = await http.call('POST', '', admin, body);
      expect([body.slice(0, 20), status]).toEqual([body.slice(0, 20), 400]);
    }
    expect(isPolluted()).toBe(false);
  });
});

function isPlain(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}

describe.each(servers)('activities and users that strangers name, on %s', (_name, connect) => {
  it('have packets and payouts each of its own', async () => {
    const bench = await openBench(connect());
    try {
      const packets: RedPacketService = bench.packets;
      const ids = HOSTILE_IDS.filter((id) => id.length <= 128);
      for (let at = 0; at < ids.length; at += 16) {
        await Promise.all(
          ids
            .slice(at, at + 16)
            .map((activityId) => packets.create({ activityId, totalCents: 2, packets: 2, buckets: 1 + (at % 2) })),
        );
      }
      const won = await Promise.all(ids.map((activityId) => packets.grab(activityId, '__proto__')));
      expect(won.map(({ status }) => status)).toEqual(ids.map(() => 'won'));
      const states = await Promise.all(ids.map((activityId) => packets.status(activityId)));
      expect(states.map((state) => [state?.activityId, state?.grantedPackets])).toEqual(ids.map((id) => [id, 1]));
      expect((await packets.activities()).sort()).toEqual([...ids].sort());
      // All users at once, in one activity: a packet each, and no two of them one.
      const all = { activityId: 'all', packets: HOSTILE_IDS.length, totalCents: HOSTILE_IDS.length * 5, buckets: 3 };
      await packets.create(all);
      const grabs = await Promise.all(HOSTILE_IDS.map((userId) => packets.grab('all', userId)));
      const numbers = grabs.map((grab) => (grab.status === 'won' ? grab.packet.packetId : grab.status));
      expect(new Set(numbers).size).toBe(HOSTILE_IDS.length);
      const paid = await payAll(bench, 'all');
      expect(paid.map(({ userId }) => userId).sort()).toEqual([...HOSTILE_IDS].sort());
      expect(new Set(paid.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(HOSTILE_IDS.length);
    } finally {
      bench.close();
    }
  });
});
