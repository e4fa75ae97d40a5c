import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { follow, type Answer } from '../../../test/support/reader.js';
import { endPods, startPods, type Pod } from '../../../test/support/pods.js';

const withKey = (key: string) => ({ headers: { 'x-api-key': key } });

describe('plans, on two pods', () => {
  let redis: RedisServer;
  let pods: Pod[];

  beforeAll(async () => {
    redis = await startRedis();
    pods = await startPods(2, 'plans', { REDIS_URL: redis.url });
  });
  afterAll(async () => {
    await endPods(pods);
    await redis.stop();
  });

  /** Sends requests to the pods in turn, one after the other. Returns their statuses. */
  async function statuses(count: number, path: string, init: RequestInit = {}): Promise<number[]> {
    const all: number[] = [];
    for (let i = 0; i < count; i++) {
      const { status } = await (pods[i % pods.length] as Pod).request('GET', path, init);
      all.push(status);
    }
    return all;
  }
  const left = async (init: RequestInit = {}): Promise<unknown> =>
    (await (pods[0] as Pod).request('GET', '/limits', init)).body;

  it('does what the README shows', async () => {
    await follow((pods[0] as Pod).url, 'examples/plans/README.md');
  });

  it('refuses the sixth request without a key, with headers, and counts unknown keys, too', async () => {
    expect(await statuses(3, '/weather')).toEqual([200, 200, 200]);
    expect(await statuses(2, '/weather', withKey('guessed'))).toEqual([401, 429]);
    const { status, headers, body } = await (pods[1] as Pod).request('GET', '/weather');
    expect([status, body]).toEqual([429, expect.objectContaining({ status: 429 })]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': expect.stringContaining('application/problem+json'),
      'retry-after': expect.stringMatching(/^\d+$/),
      'ratelimit-policy': '"anonymous";q=5;w=60',
      ratelimit: expect.stringMatching(/^"anonymous";r=0;t=\d+$/),
    });
    expect(await left()).toEqual({ plan: 'anonymous', left: { anonymous: 0 } });
  });

  it('limits bursts of an account over all its keys, and what it refuses does not count under the plan', async () => {
    const keys = ['key-of-bob', 'second-key-of-bob'].map(withKey);
    let allowed = 0;
    const next = (): Promise<Answer> => (pods[allowed % 2] as Pod).request('GET', '/weather', keys[allowed % 2]);
    let answer = await next();
    for (; answer.status === 200; answer = await next()) allowed++;
    expect(allowed).toBeGreaterThanOrEqual(6);
    expect([answer.status, answer.headers.get('ratelimit')]).toEqual([429, expect.stringContaining('"burst";r=0')]);
    expect(await left(withKey('key-of-bob'))).toMatchObject({ plan: 'pro', left: { plan: 100 - allowed } });
  });
});
