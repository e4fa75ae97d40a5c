import { Redis } from 'ioredis';
import type { RateLimitDecision } from 'luanest/rate-limit';
import { startFaultProxy, type FaultProxy } from 'luanest/testing/servers';
import { sharedRedisUrl } from '../../../test/support/shared-servers';
import { sleep } from '../../../test/support/wait';
import { endOfCharged, type Verdict } from '../src/limiter/decision';
import { openBench, quiet, ruleOf, standalone, TestClock, type Bench } from './support';

const isEvalsha = (request: string): boolean => /evalsha/i.test(request);
const keyOf = ({ prefix }: { prefix: string }, name: string, windowMs: number): string =>
  `${prefix}:rate-limit:{0}:fixed-window:${name}:${windowMs}:s`;

const budgetAt = (nowMs: number) => ({ calledAtMs: nowMs, startedAtMs: nowMs, deadlineMs: 10_000 });

describe('a fixed window by the clock of a test', () => {
  const rule = ruleOf({ name: 'w', limit: 5, windowMs: 1_000 });
  const check = { rule, subject: 's', limit: 5, cost: 1 };
  let opened: Awaited<ReturnType<typeof TestClock.open>>;
  let key: string;
  beforeEach(async () => {
    opened = await TestClock.open(standalone());
    key = keyOf(opened, 'w', 1_000);
  });
  afterEach(() => opened.close());

  const consume = async (checks = [check]) => {
    const { clock, limiter } = opened;
    return (await limiter.consume(checks, true, budgetAt(clock.nowMs))) as [Verdict];
  };
  const refund = async (verdict: Verdict): Promise<number> =>
    (await opened.limiter.refund([verdict], 10_000))[0] as number;
  const wait = (ms: number): Promise<void> => opened.clock.set(opened.clock.nowUs + ms * 1_000);

  it('ends after its last ms: then the next hit begins a new window', async () => {
    await consume();
    await wait(999);
    expect(await consume()).toMatchObject([{ used: 2, resetMs: 1 }]);
    // The key is still there, and has 0 ms left.
    await wait(1);
    expect(await consume()).toMatchObject([{ used: 1, resetMs: 1_000 }]);
    await wait(1_000);
    const three = { ...check, cost: 3 };
    expect(await consume([three])).toMatchObject([{ used: 3, resetMs: 1_000 }]);
    const other = { ...check, rule: ruleOf({ name: 'v', limit: 5, windowMs: 60_000 }) };
    expect(await consume([check, other])).toMatchObject([{ used: 4 }, { used: 1, resetMs: 60_000 }]);
    await wait(1_000);
    expect(await consume([check, other])).toMatchObject([
      { used: 1, resetMs: 1_000 },
      { used: 2, resetMs: 59_000 },
    ]);
  });

  it.each([[[check]], [[check, { ...check, rule: ruleOf({ name: 'v', limit: 5, windowMs: 60_000 }) }]]])(
    'keeps its count and gets a TTL again if the TTL was lost or is too long',
    async (checks) => {
      const { client } = opened;
      await consume(checks);
      for (const spoil of [() => client.persist(key), () => client.pexpire(key, 999_999_999)]) {
        await wait(100);
        await spoil();
        const [{ resetMs }] = await consume(checks);
        expect(resetMs).toBe(1_000);
        expect(await client.pexpiretime(key)).toBe(opened.clock.nowMs + 1_000);
      }
      expect(await client.get(key)).toBe('3');
      await client.set(key, '-7', 'PX', 10 * 86_400_000);
      expect(await consume(checks)).toMatchObject([{ used: 1, resetMs: 1_000 }, ...checks.slice(1).map(() => ({}))]);
    },
  );

  it('is refunded until it ends, and a later window is not', async () => {
    const [old] = await consume();
    const [older] = await consume();
    await wait(999);
    expect(await refund(older)).toBe(1);
    expect(await opened.client.get(key)).toBe('1');
    await wait(1);
    expect(await refund(old)).toBe(0);
    await consume();
    await consume();
    for (const ms of [0, 1, 500, 400, 98]) {
      await wait(ms);
      expect(await refund(old)).toBe(0);
    }
    expect(await opened.client.get(key)).toBe('2');
    await wait(86_400_000 - 1_000);
    await consume();
    expect(await refund(old)).toBe(0);
  });

  it('after a reset is another window, also for refunds', async () => {
    const [old] = await consume();
    await opened.limiter.reset(rule, 's', 10_000);
    expect(await refund(old)).toBe(0);
    const peek = budgetAt(opened.clock.nowMs);
    expect(await opened.limiter.consume([check], false, peek)).toMatchObject([{ used: 0, resetMs: 0 }]);
    await wait(1);
    const [fresh] = await consume();
    expect(fresh).toMatchObject({ used: 1, resetMs: 1_000 });
    expect(await consume()).toMatchObject([{ used: 2 }]);
    expect(await refund(old)).toBe(0);
    expect(await refund(fresh)).toBe(1);
    expect(await consume()).toMatchObject([{ used: 2 }]);
    await opened.limiter.reset(rule, 's', 10_000);
    await wait(1);
    expect(await consume()).toMatchObject([{ used: 1 }]);
    expect(await refund(fresh)).toBe(0);
  });

  it('of a rule whose hits and times do not fit in one number is decided, too', async () => {
    const large = ruleOf({ name: 'w', limit: 1_000_000_000, windowMs: 34_560_000_000 });
    const most = { rule: large, subject: 's', limit: 1_000_000_000, cost: 1_000_000_000 };
    const [verdict] = await consume([most]);
    expect(verdict).toMatchObject({ verdict: 0, used: 1_000_000_000, resetMs: 34_560_000_000 });
    expect(await consume([most])).toMatchObject([{ verdict: 1, used: 1_000_000_000 }]);
    expect(await refund(verdict)).toBe(1_000_000_000);
  });
});

it('a charged window is recognised unless the round trips take as long as the window', () => {
  const check = { rule: ruleOf({ name: 'w', limit: 5, windowMs: 1_000 }), subject: 's', limit: 5, cost: 1 };
  const verdict = { check, verdict: 0, used: 1, retryMs: 0, nextMs: 700, resetMs: 700, at: { fromMs: 0, toMs: 100 } };
  const end = (leftMs: number, fromMs: number, toMs: number): number | undefined =>
    endOfCharged(verdict, { ...verdict, resetMs: leftMs, at: (5_000 - leftMs) * 1_000 }, { fromMs, toMs });
  // Between the charge and the reading were 300 to 500 ms.
  expect([195, 199, 300, 400, 404].map((leftMs) => end(leftMs, 400, 500))).toEqual([
    undefined,
    -5_000,
    -5_000,
    -5_000,
    undefined,
  ]);
  // A later window has at least 1,000 ms more left.
  expect([1_200, 1_400].map((leftMs) => end(leftMs, 400, 500))).toEqual([undefined, undefined]);
  expect(end(300, 400, 1_400)).toBeUndefined();
  expect([-1, -2].map((leftMs) => end(leftMs, 800, 900))).toEqual([undefined, undefined]);
});

describe('a refund whose reply is lost', () => {
  let proxy: FaultProxy;
  let bench: Bench;
  let reconnectMs = 20;
  beforeAll(async () => {
    proxy = await startFaultProxy(sharedRedisUrl());
    bench = await openBench(quiet(new Redis(proxy.port, '127.0.0.1', { retryStrategy: () => reconnectMs })));
  });
  afterAll(async () => {
    bench.close();
    await proxy.stop();
  });

  const usedOf = async (rule: Parameters<Bench['service']['peek']>[0]): Promise<number | undefined> =>
    (await bench.service.peek(rule, 's')).rules[0]?.used;

  /** Cuts the connection at the reply of the n-th EVALSHA from now. */
  const cutAt = (n: number): Promise<void> => {
    let seen = 0;
    return proxy.dropReply({ when: (request) => isEvalsha(request) && ++seen === n });
  };

  it.each([
    ['reads the window again', 1, 2],
    ['refunds hits of the same window only', 2, 1],
  ])('%s', async (_what, n, left) => {
    const rule = { name: `lost-${n}`, limit: 9, windowMs: 60_000 };
    const decisions: RateLimitDecision[] = [];
    for (let i = 0; i < 3; i++) decisions.push(await bench.service.consume(rule, 's'));
    const cut = cutAt(n);
    expect(await bench.service.refund(decisions[0] as RateLimitDecision)).toBe(1);
    await cut;
    expect(await usedOf(rule)).toBe(left);
    expect(await bench.service.refund(decisions[0] as RateLimitDecision)).toBe(0);
    expect(await usedOf(rule)).toBe(left);
  });

  it('refunds nothing when it is sent again in a later window', async () => {
    const windowMs = 1_000;
    const rule = { name: 'late', limit: 9, windowMs };
    const client = standalone();
    const counter = keyOf(bench, 'late', windowMs);
    const old = await bench.service.consume(rule, 's');
    reconnectMs = windowMs + 200;
    const cut = cutAt(2);
    const refunded = bench.service.refund(old);
    await cut;
    await sleep(windowMs);
    // A hit of another process begins the later window.
    await client.set(counter, 1, 'PX', 60_000);
    expect(await refunded).toBe(0);
    expect(await client.get(counter)).toBe('1');
    client.disconnect();
  });
});
