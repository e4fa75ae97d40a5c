import { Redis } from 'ioredis';
import { startFaultProxy, startRedis, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import { describeResending } from '../../../test/support/client-kind';
import { claimed, openBench, quiet, type Bench } from './support';

const terms = { leaseMs: 60_000, retentionMs: 120_000 };

describeResending('a lost reply, after which the client sends the command again', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let direct: Bench;
  let lossy: Bench;

  beforeAll(async () => {
    server = await startRedis();
    proxy = await startFaultProxy(server);
    direct = await openBench(quiet(new Redis(server.port)), { prefix: 'lost' });
    lossy = await openBench(quiet(new Redis(proxy.port)), { prefix: 'lost' });
  });
  beforeEach(() => direct.raw.flushdb());
  afterAll(async () => {
    direct.close();
    lossy.close();
    await proxy.stop();
    await server.stop();
  });

  /** Loses the reply to the next script, and shows that the script has run twice. */
  async function cutting<T>(work: () => Promise<T>, scripts = 1): Promise<T> {
    const runs = async (): Promise<number> =>
      Number(/cmdstat_evalsha:calls=(\d+)/.exec(await direct.raw.info('commandstats'))?.[1] ?? 0);
    const before = await runs();
    const cut = proxy.dropReply({ when: (request) => /evalsha/i.test(request) });
    const [answer] = await Promise.all([work(), cut]);
    expect(await runs()).toBe(before + scripts + 1);
    return answer;
  }

  it('of first: the first caller is still the first, and no other caller is', async () => {
    expect(await cutting(() => lossy.once.first('m', terms))).toBe(true);
    expect(await direct.once.first('m', terms)).toBe(false);
  });

  it('of first, by a later caller: the later caller is not the first', async () => {
    await direct.once.first('m', terms);
    expect(await cutting(() => lossy.once.first('m', terms))).toBe(false);
  });

  it('of claim: the caller gets the first claim', async () => {
    const claim = claimed(await cutting(() => lossy.once.claim('m', terms)));
    const { token, fence, leaseEndsAtMs } = claim;
    expect(await direct.stored('m')).toMatchObject({ token, fence: String(fence), until: String(leaseEndsAtMs) });
    expect((await direct.once.claim('m', terms)).status).toBe('in-progress');
    expect(await claim.confirm('x')).toEqual({ status: 'confirmed' });
  });

  it('of renew: the lease is renewed once', async () => {
    const claim = claimed(await lossy.once.claim('m', terms));
    const renewed = await cutting(() => claim.renew({ leaseMs: 90_000 }));
    const until = Number((await direct.stored('m'))?.until);
    expect(renewed).toEqual({ status: 'renewed', leaseEndsAtMs: until });
  });

  it('of confirm: the id is confirmed, with its result', async () => {
    const claim = claimed(await lossy.once.claim('m', terms));
    expect(await cutting(() => claim.confirm('first'))).toEqual({ status: 'confirmed' });
    expect(await claim.confirm('second')).toEqual({ status: 'confirmed' });
    expect(await direct.once.claim('m', terms)).toEqual({ status: 'done', result: 'first', confirmed: true });
  });

  it('of release: the caller gets `released`, also when another owner has claimed the id', async () => {
    const claim = claimed(await lossy.once.claim('m', terms));
    expect(await cutting(() => claim.release())).toEqual({ status: 'released' });
    const other = claimed(await direct.once.claim('m', terms));
    expect(other.fence).toBeGreaterThan(claim.fence);
    expect(await claim.release()).toEqual({ status: 'released' });
    expect((await other.confirm()).status).toBe('confirmed');
  });

  it('of a run: the work runs once, whichever reply is lost', async () => {
    let runs = 0;
    const work = (): number => (runs += 1);
    const ran = await cutting(() => lossy.once.run('m', terms, work), 2);
    expect(ran).toEqual({ status: 'ran', result: 1, confirmed: true });
    expect(await cutting(() => lossy.once.run('m', terms, work))).toMatchObject({ status: 'duplicate', result: 1 });
    expect(runs).toBe(1);
  });
});
