import { OnceModule } from 'luanest/once';
import { RateLimitModule } from 'luanest/rate-limit';
import { admin, figures, HttpBench, identity, isAdmin, platforms } from './http-bench';

const open = { identity, adminGuard: { canActivate: isAdmin } };

describe.each(platforms)('the routes of a life on %s', (_name, adapter) => {
  let http: HttpBench;
  beforeEach(() => {
    http = HttpBench.open(adapter);
  });
  afterEach(() => http.close());
  const post = (what: string, headers: Record<string, string> = admin) => http.call('POST', `/a/${what}`, headers);

  it('pause, resume and close an activity, and show why it takes no grabs', async () => {
    await http.serve(open);
    const startsAtMs = Date.now() + 3_600_000;
    await http.create({ ...figures, activityId: 'later', startsAtMs, endsAtMs: startsAtMs + 1_000, buckets: 2 });
    expect((await http.grab('u', 'later')).body).toMatchObject({
      reason: 'preheated',
      retryAfterMs: expect.any(Number),
    });
    expect((await http.status('later')).body).toMatchObject({ state: 'preheated', startsAtMs, buckets: 2 });
    await http.create();
    const won = await http.grab('u');
    expect(await post('pause')).toEqual({ status: 200, body: { state: 'paused' } });
    expect((await http.grab('v')).body).toEqual({ status: 'not-open', reason: 'paused' });
    expect(await post('resume')).toEqual({ status: 200, body: { state: 'open' } });
    expect((await http.call('GET', '/a/mine', { 'x-user': 'u' })).body).toEqual(won.body['packet']);
    expect((await http.call('GET', '/a/mine', { 'x-user': 'v' })).status).toBe(404);
    expect((await http.call('GET', '/a/mine')).status).toBe(401);
    expect((await http.call('GET', '/a/luckiest', admin)).body).toMatchObject({ userId: 'u' });
    const closed = { status: 200, body: { activityId: 'a', closed: true, refundedPackets: 9 } };
    expect(await post('close')).toMatchObject(closed);
    expect(await post('close')).toMatchObject({ body: { closed: false, refundedPackets: 9 } });
    for (const query of ['', '?deep=true', '?deep=false']) {
      const audit = await http.call('GET', `/a/audit${query}`, admin);
      expect(audit).toMatchObject({ status: 200, body: { ok: true, problems: [], state: 'closed' } });
      expect('deep' in audit.body).toBe(query === '?deep=true');
    }
    expect(await http.call('GET', '/a/audit?deep=yes', admin)).toMatchObject({ status: 400 });
  });

  it('are closed without a guard, closed to others, and 404 where there is nothing', async () => {
    await http.serve({ identity });
    const routes = [
      ['POST', 'pause'],
      ['POST', 'resume'],
      ['POST', 'close'],
      ['GET', 'audit'],
      ['GET', 'luckiest'],
    ] as const;
    for (const [method, what] of routes) expect((await http.call(method, `/a/${what}`, admin)).status).toBe(403);
    await http.serve(open);
    for (const [method, what] of routes) {
      expect((await http.call(method, `/a/${what}`)).status).toBe(403);
      expect((await http.call(method, `/a/${what}`, admin)).status).toBe(404);
    }
  });

  it.each([
    ['split', { split: 'fair' }],
    ['amounts', { amounts: [1, 2] }],
    ['startsAtMs', { startsAtMs: 'now' }],
    ['endsAtMs', { endsAtMs: 1 }],
    ['maxTries', { maxTries: 0.5 }],
    ['buckets', { buckets: 65 }],
  ])('name %s where it is wrong', async (field, change) => {
    await http.serve(open);
    const answer = await http.create({ ...figures, packets: 100, ...change });
    expect(answer).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(new RegExp(`^${field} is `)) },
    });
  });

  it('take the limits of the app’s RateLimitModule before grabs, and before them only', async () => {
    await http.serve(open, undefined, [
      // It would count by itself where Redis does not answer in time.
      RateLimitModule.forRoot({ rules: [{ name: 'taps', limit: 2, windowMs: 3_600_000 }], deadlineMs: 30_000 }),
    ]);
    await http.create();
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push((await http.grab(`u${i}`)).status);
    expect(statuses).toEqual([200, 200, 429, 429]);
    expect((await http.status()).body).toMatchObject({ grantedPackets: 2 });
  });

  it('answer a repeated admin request as the first one, where the app has OnceModule', async () => {
    const idempotency = { subject: () => 'admin', required: false };
    await http.serve(open, undefined, [OnceModule.forRoot({ idempotency })]);
    const headers = { ...admin, 'idempotency-key': 'k1' };
    const first = await http.create(figures, headers);
    expect(first.body).toMatchObject({ created: true });
    expect(await http.create(figures, headers)).toEqual(first);
    expect((await http.create(figures, admin)).body).toMatchObject({ created: false });
    expect((await http.create({ ...figures, packets: 9 }, headers)).status).toBe(422);
    const closing = { ...admin, 'idempotency-key': 'k2' };
    const closed = await post('close', closing);
    expect(closed.body).toMatchObject({ closed: true });
    expect(await post('close', closing)).toEqual(closed);
    // A stranger's repeat is refused before it is answered.
    expect((await post('close', { 'idempotency-key': 'k2' })).status).toBe(403);
  });

  it('do without keys where OnceModule is there for other things', async () => {
    await http.serve(open, undefined, [OnceModule.forRoot()]);
    const headers = { ...admin, 'idempotency-key': 'k1' };
    expect((await http.create(figures, headers)).body).toMatchObject({ created: true });
    expect((await http.create(figures, headers)).body).toMatchObject({ created: false });
  });
});
