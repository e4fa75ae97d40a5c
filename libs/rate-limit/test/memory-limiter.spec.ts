import { KeySpace } from 'luanest/script-registry';
import { Checks } from '../../internal/src';
import { type Check, memoryId, type Verdict } from '../src/limiter/decision';
import { LimiterKeys } from '../src/limiter/redis-limiter';
import { MemoryLimiter } from '../src/limiter/memory-limiter';
import { named, resolveRule } from '../src/rules/resolve-rule';
import type { NamedRule, RateLimitRule } from '../src/rules/rule';

let nowMs = 0;
beforeEach(() => (nowMs = 10_000));

function ruleOf(options: Partial<RateLimitRule> = {}, fresh = false): NamedRule {
  const rule = named(resolveRule({ limit: 2, windowMs: 1_000, ...options }, new Checks('Test')), options.name ?? 'r');
  return fresh ? { ...rule, freshAfterBlock: true } : rule;
}

const check = (rule = ruleOf(), parts: Partial<Check> = {}): Check => ({
  rule,
  subject: 'u',
  limit: 2,
  cost: 1,
  ...parts,
});
const open = (most = 100) => new MemoryLimiter(() => nowMs * 1_000, most);
const HASH = 'sha256-';

/** Decides the same check so many times. @returns the verdict of the last one */
function hit(limiter: MemoryLimiter, times: number, one = check()) {
  let decided = limiter.decide([one], true);
  for (let i = 1; i < times; i++) decided = limiter.decide([one], true);
  return decided[0];
}

describe('a decision in memory', () => {
  it('allows up to the limit, and says when the window ends', async () => {
    const limiter = open();
    expect(await limiter.consume([check()], true)).toEqual([
      { check: check(), verdict: 0, used: 1, resetMs: 1_000, retryMs: 0, nextMs: 1_000, at: 10_000_000 },
    ]);
    nowMs += 400;
    expect(hit(limiter, 1)).toMatchObject({ verdict: 0, used: 2, resetMs: 600 });
    expect(limiter.decide([check()], true)).toEqual([
      { check: check(), verdict: 1, used: 2, resetMs: 600, retryMs: 600, nextMs: 600, at: 10_400_000 },
    ]);
    nowMs += 600;
    expect(hit(limiter, 1)).toMatchObject({ verdict: 0, used: 1 });
  });

  it('charges nothing if it only looks, if the cost is 0, or if another rule refuses', () => {
    const limiter = open();
    expect(limiter.decide([check()], false)[0]).toMatchObject({ used: 0, resetMs: 0, nextMs: 0 });
    expect(limiter.decide([check(ruleOf(), { cost: 0 })], true)[0]).toMatchObject({ used: 0 });
    const full = check(ruleOf({ name: 'full' }), { limit: 0 });
    const verdicts = limiter.decide([check(), full], true);
    expect(verdicts.map(({ verdict, used }) => [verdict, used])).toEqual([[0, 0], [1, 0]]); // prettier-ignore
    expect(limiter.decide([check()], false)[0]?.used).toBe(0);
  });

  it('is not refused by a shadow rule, which is not charged beyond its limit', () => {
    const limiter = open();
    const shadow = check(ruleOf({ name: 'shadow', shadow: true, blockMs: 50 }), { limit: 1 });
    limiter.decide([shadow, check()], true);
    const verdicts = limiter.decide([shadow, check()], true);
    expect(verdicts.map(({ verdict, used }) => [verdict, used])).toEqual([[1, 1], [0, 2]]); // prettier-ignore
  });

  it('that can never be allowed may be tried again after a window', () => {
    const limiter = open();
    hit(limiter, 1);
    nowMs += 300;
    expect(limiter.decide([check(ruleOf(), { cost: 3 })], true)[0]).toMatchObject({ verdict: 1, retryMs: 1_000 });
  });

  it('counts each subject and each rule alone, but rules with the same name and window together', () => {
    const limiter = open();
    hit(limiter, 2);
    expect(hit(limiter, 1, check(ruleOf(), { subject: 'v' }))?.used).toBe(1);
    expect(hit(limiter, 1, check(ruleOf({ name: 'other' })))?.used).toBe(1);
    expect(hit(limiter, 1, check(ruleOf({ windowMs: 2_000 })))?.used).toBe(1);
    expect(hit(limiter, 1, check(ruleOf({ algorithm: 'sliding-log' })))?.used).toBe(1);
    expect(hit(limiter, 1, check(ruleOf()))?.verdict).toBe(1);
  });

  it('forgets the subject that was not used for the longest time', () => {
    const limiter = open(2);
    const of = (subject: string) => check(ruleOf(), { subject });
    for (const subject of ['a', 'b', 'a', 'c']) hit(limiter, 1, of(subject));
    expect(limiter.size).toBe(2);
    expect(limiter.decide([of('a')], false)[0]?.used).toBe(2);
    expect(limiter.decide([of('b')], false)[0]?.used).toBe(0);
  });
});

describe('a block in memory', () => {
  const blocking = (options: Partial<RateLimitRule> = {}, fresh = false) =>
    check(ruleOf({ blockMs: 5_000, ...options }, fresh));

  it('begins with the first refusal, and lasts longer than the window', () => {
    const limiter = open();
    hit(limiter, 2, blocking());
    expect(hit(limiter, 1, blocking())).toMatchObject({
      verdict: 2,
      used: 2,
      retryMs: 5_000,
      resetMs: 5_000,
      nextMs: 5_000,
    });
    nowMs += 4_999;
    expect(hit(limiter, 1, blocking())).toMatchObject({ verdict: 2, used: 0, retryMs: 1 });
    nowMs += 1;
    expect(hit(limiter, 1, blocking())).toMatchObject({ verdict: 0, used: 1, retryMs: 0 });
  });

  it('does not begin with a look, and a later refusal does not make it longer', () => {
    const limiter = open();
    hit(limiter, 2, blocking());
    expect(limiter.decide([blocking()], false)[0]).toMatchObject({ verdict: 1, retryMs: 1_000 });
    hit(limiter, 1, blocking());
    nowMs += 100;
    expect(hit(limiter, 1, blocking())).toMatchObject({ retryMs: 4_900 });
  });

  it('shorter than the window leaves the time of the window', () => {
    const limiter = open();
    const short = blocking({ blockMs: 100 });
    expect(hit(limiter, 3, short)).toMatchObject({ verdict: 2, retryMs: 1_000, resetMs: 1_000 });
  });

  it('begins a new window after it if the rule says so', () => {
    const limiter = open();
    const fresh = blocking({ blockMs: 100 }, true);
    expect(hit(limiter, 3, fresh)).toMatchObject({ verdict: 2, retryMs: 100, resetMs: 100, nextMs: 100 });
    nowMs += 100;
    expect(hit(limiter, 1, fresh)).toMatchObject({ verdict: 0, used: 1 });
  });

  it('is longer each time, up to a maximum, until the earlier ones are forgotten', () => {
    const limiter = open();
    const escalating = blocking({
      blockMs: 100,
      maxBlockMs: 350,
      windowMs: 10,
    });
    const lengths: unknown[] = [];
    for (let i = 0; i < 4; i++) {
      const refused = hit(limiter, 3, escalating);
      lengths.push(refused?.retryMs);
      nowMs += Number(refused?.retryMs);
    }
    nowMs += 349;
    lengths.push(hit(limiter, 3, escalating)?.retryMs);
    nowMs += 350 + 350;
    lengths.push(hit(limiter, 3, escalating)?.retryMs);
    expect(lengths).toEqual([100, 200, 350, 350, 350, 100]);
  });

  it('by hand deletes the hits, and is remembered for the escalation', async () => {
    const limiter = open();
    hit(limiter, 2);
    await limiter.block(check().rule, 'u', 70);
    expect(limiter.decide([check()], false)[0]).toMatchObject({ verdict: 2, used: 0, retryMs: 70, resetMs: 70 });
    nowMs += 70;
    expect(hit(limiter, 1)).toMatchObject({ verdict: 0, used: 1 });
  });
});

describe('a refund and a reset in memory', () => {
  it('give back what was charged, once', async () => {
    const limiter = open();
    const charged = [hit(limiter, 2) as Verdict];
    expect(await limiter.refund(charged)).toEqual([1]);
    expect(limiter.decide([check()], false)[0]?.used).toBe(1);
    nowMs += 1_000;
    expect(await limiter.refund(charged)).toEqual([0]);
  });

  it('give back nothing of a subject that is unknown, or of a charge without a time', async () => {
    const limiter = open();
    const charged = hit(limiter, 1) as Verdict;
    expect(await limiter.refund([{ ...charged, check: check(ruleOf(), { subject: 'v' }) }])).toEqual([0]);
    expect(await limiter.refund([{ ...charged, at: { fromMs: 1, toMs: 2 } }])).toEqual([0]);
  });

  it('know whether there was something to delete', async () => {
    const limiter = open();
    hit(limiter, 2);
    expect([await limiter.reset(check().rule, 'u'), await limiter.reset(check().rule, 'u')]).toEqual([true, false]);
    expect(hit(limiter, 1)?.used).toBe(1);
  });
});

describe('the key of a subject', () => {
  const keys = new LimiterKeys(new KeySpace('p', 'rate-limit'), 1);

  it.each(['u', 'a.b', 'x'.repeat(128), 'é'])('has the subject as it is: %s', (subject) => {
    expect(keys.state(ruleOf(), subject).endsWith(subject)).toBe(true);
  });

  it.each(['', 'x'.repeat(129), '\ud800', `${HASH}abc`])('has a hash in place of %j', (subject) => {
    expect(keys.state(ruleOf(), subject)).toMatch(/sha256-[0-9a-f]{64}$/);
  });

  it('differs for the block, the rule, the algorithm, the window and the subject', () => {
    const all = [
      ...[keys.state(ruleOf(), 'u'), keys.penalty(ruleOf(), 'u'), keys.state(ruleOf({ name: 'b' }), 'u')],
      ...[keys.state(ruleOf({ windowMs: 5 }), 'u'), keys.state(ruleOf({ algorithm: 'sliding-log' }), 'u')],
      ...[keys.state(ruleOf(), 'v'), keys.penalty(ruleOf({ name: 'b' }), 'u'), keys.state(ruleOf(), '\ud800')],
      keys.state(ruleOf(), '\ud801'),
    ];
    expect(new Set(all).size).toBe(9);
    expect(keys.penalty(ruleOf({ windowMs: 5 }), 'u')).toBe(keys.penalty(ruleOf(), 'u'));
  });

  it('has one of the hash tags, which belongs to the subject', () => {
    const many = new LimiterKeys(new KeySpace('p', 'rate-limit'), 8);
    const tags = new Set(Array.from({ length: 200 }, (_, i) => many.tagOf(`u${i}`)));
    expect([tags.size, Math.max(...tags), keys.tagOf('u1')]).toEqual([8, 7, 0]);
    const tagIn = (key: string): string | undefined => /\{(.*?)\}/.exec(key)?.[1];
    const rule = ruleOf();
    for (const subject of ['u1', 'u2', 'u3']) {
      expect(tagIn(many.state(rule, subject))).toBe(tagIn(many.penalty(rule, subject)));
      expect(many.state(rule, subject)).toBe(many.state(rule, subject));
    }
    expect(new Set(Array.from({ length: 200 }, (_, i) => tagIn(many.state(rule, `u${i}`)))).size).toBe(8);
  });

  it('in memory is short, and differs for names that contain a separator', () => {
    expect(memoryId(ruleOf(), 'u')).toBe('fixed-window:1000:1:r:u');
    expect(memoryId(ruleOf(), 'x'.repeat(200))).toMatch(/^fixed-window:1000:1:r:sha256-/);
  });
});
