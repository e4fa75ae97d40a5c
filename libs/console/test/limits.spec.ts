import { Controller, Get } from '@nestjs/common';
import { RateLimit, type RateLimitRule } from 'luanest/rate-limit';
import { eventually } from '../../../test/support/wait';
import { openBench, servers, type Bench } from '../../rate-limit/test/support';
import { RateLimitEnforcer } from '../../rate-limit/src/rate-limit.guard';
import { resolveOptions } from '../../rate-limit/src/rate-limit.options';
import type { Section } from '../src/console.types';
import { limitsSection } from '../src/sections/limits';
import { act, allRows, factsOf, figuresOf, rowsOf, sectionOf } from './section-support';

const HOUR_MS = 3_600_000;
const RULES: RateLimitRule[] = [
  { name: 'api', limit: 3, windowMs: HOUR_MS },
  {
    name: 'login',
    limit: 1,
    windowMs: HOUR_MS,
    algorithm: 'sliding-window',
    blockMs: HOUR_MS,
    maxBlockMs: 4 * HOUR_MS,
  },
  { name: 'burst', limit: 60, windowMs: HOUR_MS, algorithm: 'token-bucket', burst: 2, shadow: true },
  { name: 'plan', limit: () => 5, windowMs: HOUR_MS, algorithm: 'sliding-log' },
];

@Controller('reports')
class Reports {
  @Get(':id')
  @RateLimit({ limit: 9, windowMs: 60_000 })
  read(): void {
    // Only its rule matters.
  }
}

describe.each(servers)('the section of limits on %s', (_, connect) => {
  let bench: Bench;
  let section: Section;
  beforeEach(async () => {
    const rules = RULES;
    bench = await openBench(connect(), { rules }, { tags: 4 });
    const enforcer = new RateLimitEnforcer(bench.service, resolveOptions({ rules }));
    enforcer.plans.declarations(Reports, Reflect.get<object, string>(Reports.prototype, 'read') as () => void);
    section = sectionOf(limitsSection, { RateLimitService: bench.service, RateLimitEnforcer: enforcer });
  });
  afterEach(() => bench.close());

  const stateOf = async (subject: string) => {
    const story = await section.show(['limits', 'subjects', subject]);
    const rows = rowsOf(story?.lists?.[0]?.listing ?? { columns: [], rows: [] });
    return {
      codes: story?.sentences.map(({ code }) => code),
      rules: Object.fromEntries(rows.map(({ rule, ...row }) => [rule, row])),
    };
  };

  it('lists the rules of the module, of routes and of calls, and what this process refused', async () => {
    await bench.service.consume({ name: 'inline', limit: 1, windowMs: 1_000 }, 'ann');
    for (let i = 0; i < 5; i++) await bench.service.consume('api', 'ann');
    await bench.service.peek('api', 'ann');
    const rows = await allRows(section, ['limits', 'rules']);
    expect(rows.map(({ rule }) => rule).sort()).toEqual([
      'GET /reports/:id',
      'api',
      'burst',
      'inline',
      'login',
      'plan',
    ]);
    expect(rows.find(({ rule }) => rule === 'api')).toMatchObject({
      ...{ algorithm: 'fixed-window', limit: 3, windowMs: HOUR_MS, burst: null, blockMs: null, mode: 'enforced' },
      ...{ refusalsOfThisProcess: 2 },
    });
    expect(rows.find(({ rule }) => rule === 'plan')).toMatchObject({ limit: 'per-request' });
    expect(rows.find(({ rule }) => rule === 'burst')).toMatchObject({ burst: 2, mode: 'shadow' });
    expect(await figuresOf(section)).toEqual({ rules: 6, refusalsOfThisProcess: 2, codes: [] });
    expect(await factsOf(section, ['limits', 'rules', 'api'])).toMatchObject({ refusalsOfThisProcess: 2, cost: 1 });
    expect(await section.show(['limits', 'rules', 'other'])).toBeUndefined();
  });

  it('shows what a subject has left under each rule, and reading counts nothing', async () => {
    expect(await stateOf('ann')).toMatchObject({
      codes: ['subject-not-counted'],
      rules: { api: { used: 0, remaining: 3 } },
    });
    await bench.service.consume('api', 'ann');
    await bench.service.consume('plan', 'ann', { limit: 5 });
    await bench.service.consume('burst', 'ann', { cost: 2 });
    for (let i = 0; i < 2; i++) {
      expect(await stateOf('ann')).toMatchObject({
        codes: ['subject-counted'],
        rules: {
          api: { state: 'allowed', used: 1, limit: 3, remaining: 2 },
          login: { state: 'allowed', used: 0, remaining: 1, endsAtMs: null },
          plan: { state: 'allowed', used: 1, limit: 'per-request', remaining: null },
          burst: { state: 'limited', used: 2, remaining: 0 },
          'GET /reports/:id': { used: 0, remaining: 9 },
        },
      });
    }
    await bench.service.consume('api', 'ann', { cost: 2 });
    const { codes, rules } = await stateOf('ann');
    expect(codes).toEqual(['subject-limited']);
    expect(rules.api).toMatchObject({ state: 'limited', used: 3, remaining: 0 });
    expect(rules.api?.endsAtMs).toBeGreaterThan(Date.now() + HOUR_MS / 2);
  });

  it('lists who is blocked, by rule, finds them, and resets them', async () => {
    const odd = 'a{b}:%7D';
    for (const subject of ['eve', odd, 'x'.repeat(500)]) {
      for (let i = 0; i < 2; i++) await bench.service.consume('login', subject);
    }
    await act(section, 'block', ['limits', 'subjects', 'mallory', 'GET /reports/:id'], { blockMs: HOUR_MS });
    const rows = await allRows(section, ['limits', 'blocked'], 2);
    const subjects = rows.map(({ subject }) => String(subject).replace(/^sha256-\w+$/, 'hash'));
    expect(subjects.sort()).toEqual([odd, 'eve', 'hash', 'mallory']);
    const ofLogin = await allRows(section, ['limits', 'blocked'], 50, 'rule:login');
    expect(ofLogin).toHaveLength(3);
    const eve = ofLogin.find(({ subject }) => subject === 'eve');
    expect(eve).toMatchObject({ rule: 'login', strikes: 1 });
    expect(eve?.blockedUntilAtMs).toBeGreaterThan(Date.now() + HOUR_MS / 2);
    const ofRoute = await allRows(section, ['limits', 'rules', 'GET /reports/:id', 'blocked']);
    expect(ofRoute).toMatchObject([{ subject: 'mallory', rule: 'GET /reports/:id' }]);

    const address = ['limits', 'subjects', 'eve'];
    expect(await section.find('eve')).toMatchObject([
      { address, kind: 'subject', sentence: { code: 'subject-blocked' } },
    ]);
    expect(await section.find('nobody')).toEqual([]);
    expect(await section.preview('reset', { address }, {})).toMatchObject({ count: 1, samples: ['login'] });
    expect(await act(section, 'reset', address)).toEqual({ count: 1 });
    expect(await stateOf('eve')).toMatchObject({ codes: ['subject-not-counted'] });
    expect(await allRows(section, ['limits', 'blocked'], 50, 'rule:login')).toHaveLength(2);
    expect((await bench.service.consume('login', 'eve')).allowed).toBe(true);
    expect(await section.preview('reset', { address: ['limits', 'subjects', 'nobody'] }, {})).toMatchObject({
      count: 0,
    });
  });

  it('does not list blocks that are over, although Redis remembers them', async () => {
    await bench.service.block('login', 'eve', 1);
    await bench.service.block('login', 'ann', HOUR_MS);
    await eventually(async () =>
      expect(await allRows(section, ['limits', 'blocked'])).toMatchObject([{ subject: 'ann' }]),
    );
  });

  it('blocks a subject under one rule, and refuses invalid inputs', async () => {
    const target = { address: ['limits', 'subjects', 'ann', 'api'] };
    await expect(section.preview('block', target, {})).rejects.toThrow('blockMs');
    await expect(section.run('block', target, { blockMs: 0 }, undefined)).rejects.toThrow('blockMs');
    expect(await act(section, 'block', target.address, { blockMs: HOUR_MS })).toEqual({ count: 1 });
    expect(await bench.service.peek('api', 'ann')).toMatchObject({ allowed: false, reason: 'blocked' });
    await expect(section.run('free', target, {}, undefined)).rejects.toThrow('Known: reset, block');
    const unknown = { address: ['limits', 'subjects', 'ann', 'other'] };
    await expect(section.run('reset', unknown, {}, undefined)).rejects.toThrow('limits/subjects/ann/other');
  });
});
