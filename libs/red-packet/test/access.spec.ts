import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { RedPacketModuleOptions } from 'luanest/red-packet';
import { of } from 'rxjs';
import { figures, HttpBench, identity, isAdmin, platforms } from './http-bench';

@Injectable()
class AdminGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return isAdmin(context);
  }
}

describe.each(platforms)('who may call the routes on %s', (_name, adapter) => {
  let http: HttpBench;
  beforeEach(() => void (http = HttpBench.open(adapter)));
  afterEach(() => http.close());

  const serve = (): Promise<void> => http.serve({ identity, adminGuard: { canActivate: isAdmin } });

  it('let only admins create and read records', async () => {
    await serve();
    expect((await http.create(figures, {})).status).toBe(403);
    expect((await http.status()).status).toBe(404);
    await http.create();
    await http.grab('u');
    expect((await http.records('', { 'x-user': 'u' })).status).toBe(403);
    const { status, body } = await http.records();
    expect({ status, body }).toMatchObject({ status: 200, body: { items: [{ userId: 'u' }] } });
    expect(body).not.toHaveProperty('nextCursor');
  });

  it.each([null, '', undefined])('answer 401 where identity returns %p, at once or later', async (unknown) => {
    for (const identity of [() => unknown, () => Promise.resolve(unknown)]) {
      await http.serve({ identity });
      expect((await http.call('POST', '/a/grab')).status).toBe(401);
      expect((await http.call('GET', '/a/mine')).status).toBe(401);
      expect((await http.call('GET', '/a/results')).status).toBe(401);
    }
  });

  it('show the results to winners only', async () => {
    await serve();
    await http.create();
    await http.grab('u');
    const { status, body } = await http.call('GET', '/a/results?limit=10', { 'x-user': 'u' });
    expect({ status, body }).toMatchObject({ status: 200, body: { items: [{ own: true, luckiest: false }], own: {} } });
    expect(JSON.stringify(body)).not.toContain('"u"');
    expect((await http.call('GET', '/a/results', { 'x-user': 'v' })).status).toBe(404);
  });

  it.each<[string, RedPacketModuleOptions['adminGuard']]>([
    ['a class', AdminGuard],
    ['an instance', new AdminGuard()],
    ['one that promises', { canActivate: (context) => Promise.resolve(isAdmin(context)) }],
    ['one that answers with an observable', { canActivate: (context) => of(isAdmin(context)) }],
  ])('take a guard that is %s', async (_kind, adminGuard) => {
    await http.serve({ identity, adminGuard });
    expect((await http.create(figures, {})).status).toBe(403);
    expect((await http.records('', {})).status).toBe(403);
    expect((await http.create()).status).toBe(201);
    expect((await http.records()).status).toBe(200);
  });

  it('stay closed to admins without a guard, and say which option opens them', async () => {
    await http.serve({ identity });
    for (const answer of [await http.create(), await http.records()]) {
      expect(answer).toMatchObject({ status: 403, body: { message: expect.stringContaining('adminGuard') } });
    }
  });

  it('hand a packet to the user whom identity names, and to nobody whom the request names', async () => {
    await serve();
    await http.create();
    const path = '/a/grab?userId=evil&user=evil';
    const headers = { 'x-user': 'honest', 'x-user-id': 'evil', 'user-id': 'evil' };
    const answer = await http.call('POST', path, headers, { userId: 'evil', user: 'evil' });
    expect(answer).toMatchObject({ status: 200, body: { status: 'won' } });
    const { body } = await http.records();
    expect(body['items']).toEqual([{ userId: 'honest', ...(answer.body['packet'] as object) }]);
  });

  it('answer 401 to an unknown user, also if identity returns a promise, and 400 for an invalid user id', async () => {
    await serve();
    await http.create();
    const body = { userId: 'evil' };
    expect((await http.call('POST', '/a/grab', {}, body)).status).toBe(401);
    expect(await http.grab('x'.repeat(257))).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/^userId is /) },
    });
    await http.serve({ identity: () => Promise.resolve(undefined) });
    expect((await http.grab('u')).status).toBe(401);
    expect((await http.status()).body).toMatchObject({ grantedPackets: 0 });
  });

  it('are not there with controller: false, while the service is', async () => {
    await http.serve({ identity, adminGuard: AdminGuard, controller: false });
    for (const answer of [await http.create(), await http.grab('u'), await http.status(), await http.records()]) {
      expect(answer).toMatchObject({ status: 404, body: { message: expect.stringContaining('Cannot ') } });
    }
    const service = http.service;
    expect(await service?.create(figures)).toMatchObject({ created: true });
  });
});
