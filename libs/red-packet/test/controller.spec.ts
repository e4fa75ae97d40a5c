import { KeySpace } from 'luanest/script-registry';
import { Layouts, type BucketKeys } from '../src/buckets/layout';
import { ScriptRefusedError } from 'luanest/script-registry';
import { admin, figures, HttpBench, identity, isAdmin, platforms } from './http-bench';

/** Keys of the activity `a`. */
const keysOf = (prefix: string): BucketKeys =>
  new Layouts(new KeySpace(prefix, 'red-packet'), 16).root('a').buckets[0] as BucketKeys;

describe.each(platforms)('the routes on %s', (_name, adapter) => {
  let http: HttpBench;
  beforeEach(async () => {
    http = HttpBench.open(adapter);
    await http.serve({ identity, adminGuard: { canActivate: isAdmin } });
  });
  afterEach(() => http.close());

  it('create an activity from an amount or from cents, and find it again', async () => {
    const made = { activityId: 'yuan', totalCents: 1_000_050, packets: 4 };
    const answer = await http.create({
      activityId: 'yuan',
      total: '10000.50',
      packets: 4,
      minCents: 2,
      maxCents: 900_000,
    });
    expect(answer).toEqual({ status: 201, body: { ...made, created: true } });
    const repeat = await http.create({ ...made, minCents: 2, maxCents: 900_000 });
    expect(repeat).toEqual({ status: 201, body: { ...made, created: false } });
  });

  it('answer 409 for an id that is used with other parameters', async () => {
    await http.create();
    const answer = await http.create({ ...figures, packets: 9 });
    expect(answer).toMatchObject({ status: 409, body: { message: expect.stringContaining('other parameters') } });
  });

  it('answer 409 when Redis has lost packets of a draft, without the names of its keys', async () => {
    await http.create();
    const { meta, pool } = keysOf(http.prefix);
    await http.client.hset(meta, 'state', 'draft');
    await http.client.lset(pool, 0, '1:1:999');
    expect(await http.create()).toMatchObject({
      status: 409,
      body: {
        message: expect.stringMatching(/^Activity "a" was not opened, because not all of its packets are in Redis/),
      },
    });
  });

  it('answer every status of a grab with 200', async () => {
    await http.create({ ...figures, packets: 1 });
    const won = await http.grab('u');
    expect(won).toMatchObject({
      status: 200,
      body: { status: 'won', packet: { packetId: '1', amountCents: 1_000 } },
    });
    expect(await http.grab('u')).toEqual({ status: 200, body: { ...won.body, status: 'already-won' } });
    expect(await http.grab('v')).toEqual({
      status: 200,
      body: { status: 'sold-out' },
    });
    expect(await http.grab('v', 'none')).toEqual({
      status: 200,
      body: { status: 'not-open', reason: 'unknown' },
    });
  });

  it('answer the status of an activity to anyone, and 404 for an unknown one', async () => {
    const id = 'spring {a}:ü';
    await http.create({ ...figures, activityId: id });
    await http.grab('u', id);
    const { status, body } = await http.status(id);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { activityId: id, state: 'open', grantedPackets: 1, remainingPackets: 9, openPayouts: 1 },
    });
    const missing = await http.status('none');
    expect(missing).toMatchObject({ status: 404, body: { message: expect.stringContaining('"none"') } });
  });

  it('take the longest id there is, and name one that is longer', async () => {
    const longest = '中'.repeat(128);
    await http.create({ ...figures, activityId: longest });
    expect(await http.grab('u', longest)).toMatchObject({ status: 200, body: { status: 'won' } });
    const message = expect.stringMatching(/^activityId is /);
    expect(await http.status('x'.repeat(129))).toMatchObject({ status: 400, body: { message } });
    expect(await http.grab('u', 'x'.repeat(129))).toMatchObject({ status: 400, body: { message } });
  });

  it('page through records, and name the parameter that is invalid', async () => {
    await http.create({ ...figures, packets: 600 });
    await Promise.all(Array.from({ length: 600 }, (_, i) => http.service.grab('a', `u${i}`)));
    const seen = new Set<string>();
    let pages = 0;
    for (let cursor: string | undefined = '0'; cursor !== undefined; pages += 1) {
      const { body } = await http.records(`?limit=100&cursor=${cursor}`);
      for (const { userId } of body['items'] as { userId: string }[]) seen.add(userId);
      cursor = body['nextCursor'] as string | undefined;
    }
    expect(seen.size).toBe(600);
    expect(pages).toBeGreaterThan(1);
    for (const query of [
      'limit=0',
      'limit=1001',
      'limit=-1',
      'limit=1e2',
      'limit=',
      'limit=1&limit=2',
      'cursor=x',
      'cursor=1&cursor=2',
    ]) {
      const answer = await http.records(`?${query}`);
      const name = query.split('=')[0] as string;
      expect(answer).toMatchObject({
        status: 400,
        body: { message: expect.stringMatching(new RegExp(`^${name} is `)) },
      });
    }
  });

  it('answer 100 parallel taps of one user with one packet', async () => {
    await http.create();
    const answers = await Promise.all(Array.from({ length: 100 }, () => http.grab('u')));
    expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body['packet']]))).size).toBe(1);
    expect(answers.filter(({ body }) => body['status'] === 'won')).toHaveLength(1);
    expect(answers[0]).toMatchObject({ status: 200, body: { packet: { packetId: '1' } } });
    expect((await http.status()).body).toMatchObject({ grantedPackets: 1, openPayouts: 1 });
  });

  it('answer 503 while Redis is unavailable, without its errors', async () => {
    await http.serve({ identity, adminGuard: { canActivate: isAdmin } }, 200);
    http.client.disconnect();
    for (const answer of await Promise.all([http.grab('u'), http.status(), http.create(), http.records()])) {
      expect(answer).toMatchObject({
        status: 503,
        body: {
          message: 'Redis did not reply, so the request may have had an effect or not. Send it again: that is safe.',
        },
      });
    }
  });

  it('answer 503 when Redis refuses, and say so', async () => {
    const error = new ScriptRefusedError('red-packet.grab was refused: OOM', 'OOM');
    jest.spyOn(http.service, 'grab').mockRejectedValue(error);
    expect(await http.grab('u')).toMatchObject({
      status: 503,
      body: { message: 'Redis refused the request, so it had no effect. Send it again later.' },
    });
  });

  it('answer 500 when the activity is damaged, without the names of its keys', async () => {
    await http.create();
    await http.client.set(keysOf(http.prefix).outbox, 'x');
    expect(await http.grab('u')).toEqual({ status: 500, body: { statusCode: 500, message: 'Internal server error' } });
  });
});

// No case leaves anything behind, so all share an app.
describe.each(platforms)('the routes on %s', (_name, adapter) => {
  let http: HttpBench;
  beforeAll(async () => {
    http = HttpBench.open(adapter);
    await http.serve({ identity, adminGuard: { canActivate: isAdmin } });
  });
  afterAll(() => http.close());

  it.each<[string, unknown]>([
    ['total', { activityId: 'a', packets: 1, total: '1', totalCents: 100 }],
    ['total', { activityId: 'a', packets: 1, total: 10.5 }],
    ['total', { activityId: 'a', packets: 1, total: '1.005' }],
    ['total', { activityId: 'a', packets: 1, total: '-1' }],
    ['total', { activityId: 'a', packets: 1, total: null }],
    ['totalCents', { activityId: 'a', packets: 1 }],
    ['totalCents', { ...figures, totalCents: 10.5 }],
    ['totalCents', { ...figures, totalCents: '1000' }],
    ['totalCents', { ...figures, totalCents: 9 }],
    ['packets', { ...figures, packets: 1.5 }],
    ['packets', { ...figures, packets: undefined }],
    ['minCents', { ...figures, minCents: 0 }],
    ['maxCents', { ...figures, maxCents: '5' }],
    ['activityId', { ...figures, activityId: '' }],
    ['activityId', { ...figures, activityId: { $ne: 1 } }],
    ['userId', { ...figures, userId: 'x' }],
    ['maxcents', { ...figures, maxcents: 5 }],
    ['body', [figures]],
    ['body', undefined],
  ])('answer 400 and name %s for %j', async (field, body) => {
    const answer = await http.call('POST', '', admin, body);
    expect(answer).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(new RegExp(`^(${field} is |The body has an unknown field "${field}")`)) },
    });
    expect((await http.status()).status).toBe(404);
  });
});
