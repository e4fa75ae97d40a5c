import { openBench, servers, type Bench } from '../../read-reward/test/support';
import type { ReadRewardService } from 'luanest/read-reward';
import type { Section } from '../src/console.types';
import { rewardsSection } from '../src/sections/rewards';
import { act, allRows, factsOf, figuresOf, rowsOf, sectionOf } from './section-support';

const RULES = { article: { limit: 3, pointsPerItem: 5 }, video: { limit: 1_000, dedupe: 'ever' as const } };

describe.each(servers)('the section of rewards on %s', (_, connect) => {
  let bench: Bench;
  let rewards: ReadRewardService;
  let section: Section;
  beforeEach(async () => {
    bench = await openBench(connect());
    rewards = bench.service(RULES);
    section = sectionOf(rewardsSection, { ReadRewardService: rewards });
  });
  afterEach(() => bench.close());

  const read = (itemId: string, rule = 'article') => rewards.record({ rule, userId: 'ann:1', itemId });
  const items = (rule = 'article') => ['rewards', 'users', 'ann:1', rule, 'items'];

  it('shows the points of a user, and the items that count', async () => {
    for (const itemId of ['a', 'b{:}', 'a']) await read(itemId);
    await read('film', 'video');
    const rows = rowsOf((await section.show(['rewards', 'users', 'ann:1']))?.lists?.[0]?.listing as never);
    expect(rows).toMatchObject([
      { rule: 'article', points: 10, used: 2, remaining: 1 },
      { rule: 'video', points: 1, used: 1, remaining: 999 },
    ]);
    const address = ['rewards', 'users', 'ann:1', 'article'];
    expect(await factsOf(section, address)).toMatchObject({ points: 10, used: 2, codes: ['reward-open'] });
    const found = await allRows(section, items());
    expect(found.sort((one, other) => (String(one.item) < String(other.item) ? -1 : 1))).toEqual([
      { item: 'a', points: 5 },
      { item: 'b{:}', points: 5 },
    ]);
    await read('c');
    expect(await factsOf(section, address)).toMatchObject({ remaining: 0, codes: ['reward-capped'] });
    expect(await figuresOf(section)).toEqual({ rules: 2, codes: [] });
    expect(await allRows(section, ['rewards', 'rules'])).toMatchObject([
      { rule: 'article', period: 'day', limit: 3, pointsPerItem: 5, capPoints: null, dedupe: 'period' },
      { rule: 'video', dedupe: 'ever' },
    ]);
  });

  it('reads many items page by page', async () => {
    for (let i = 0; i < 600; i++) await read(`film-${i}`, 'video');
    const first = await section.list(items('video'), { limit: 20 });
    expect(first.rows.length).toBeLessThan(200);
    const all = await allRows(section, items('video'), 20);
    expect(new Set(all.map(({ item }) => item)).size).toBe(600);
  });

  it('takes a grant back, once, and its item can be rewarded again', async () => {
    const { grantId } = await read('a');
    const address = [...items(), grantId as string];
    expect(await factsOf(section, address)).toMatchObject({ rule: 'article', user: 'ann:1', actions: ['take-back'] });
    expect(await section.preview('take-back', { address }, {})).toMatchObject({
      ...{ count: 1, samples: ['a'], sentence: { code: 'take-back-by-hand' } },
    });
    expect(await act(section, 'take-back', address)).toEqual({ count: 1 });
    expect(await rewards.status('ann:1')).toMatchObject([{ points: 0, used: 0 }, {}]);
    expect(await act(section, 'take-back', address)).toMatchObject({ refused: { code: 'grant-taken-back-before' } });
    expect((await read('a')).status).toBe('rewarded');
    const old = (grantId as string).replace(/:\d{13}:/, ':1000000000000:');
    expect(await act(section, 'take-back', [...items(), old])).toMatchObject({ refused: { code: 'grant-expired' } });
    const none = (grantId as string).replace(/:1:/, ':77:');
    expect(await act(section, 'take-back', [...items(), none])).toMatchObject({ refused: { code: 'grant-unknown' } });
  });

  it('says that the ledger gets a row', async () => {
    const ledger = bench.service(RULES, { ledgerRetentionMs: 60_000 });
    const { grantId } = await ledger.record({ rule: 'article', userId: 'ann:1', itemId: 'l' });
    const target = { address: [...items(), grantId as string] };
    const own = sectionOf(rewardsSection, { ReadRewardService: ledger });
    expect(await own.preview('take-back', target, {})).toMatchObject({ sentence: { code: 'take-back-in-ledger' } });
  });

  it('finds a user with points, and refuses what is not a grant of the address', async () => {
    const { grantId } = await read('a');
    expect(await section.find('ann:1')).toMatchObject([
      { address: ['rewards', 'users', 'ann:1'], kind: 'user', sentence: { values: { points: 5 } } },
    ]);
    for (const none of ['bob', '', 'x'.repeat(300)]) expect(await section.find(none)).toEqual([]);
    const other = { address: ['rewards', 'users', 'bob', 'article', 'items', grantId as string] };
    await expect(section.run('take-back', other, {}, undefined)).rejects.toThrow('nothing at');
    const text = { address: [...items(), 'text'] };
    await expect(section.run('take-back', text, {}, undefined)).rejects.toThrow('grantId is "text"');
    await expect(section.list(['rewards', 'users'], { limit: 9 })).rejects.toThrow('rewards/users');
  });
});
