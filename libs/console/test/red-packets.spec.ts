import { Logger } from '@nestjs/common';
import { deadLetter } from 'luanest/stream-consumer';
import { eventually } from '../../../test/support/wait';
import { figures, openBench, QUICK, servers, type Bench } from '../../red-packet/test/support';
import type { Section } from '../src/console.types';
import { redPacketsSection } from '../src/sections/red-packets';
import { act, allRows, countOfFix, factsOf, figuresOf, rowsOf, sectionOf } from './section-support';

Logger.overrideLogger(false);

const equal = (id: string, packets: number) => ({ ...figures(id, packets), split: 'equal' as const });
const ALL = ['red-packets', 'activities'];

describe.each(servers)('the section of red packets on %s', (_, connect) => {
  let bench: Bench;
  let section: Section;
  beforeEach(async () => {
    bench = await openBench(connect());
    section = sectionOf(redPacketsSection, { RedPacketService: bench.packets, RedPacketPayouts: bench.payouts });
  });
  afterEach(() => bench.close());

  const grab = async (id: string, ...users: string[]) => {
    for (const user of users) await bench.packets.grab(id, user);
  };
  /** Pays all but what `mallory` won, which is dead-lettered. */
  const pay = async (id: string, dead: number): Promise<void> => {
    const run = bench.payouts.run(
      ({ userId }) => (userId.startsWith('mallory') ? deadLetter('no account') : undefined),
      QUICK,
    );
    await eventually(async () => expect(await bench.payouts.stats(id)).toEqual({ open: 0, deadLetters: dead }));
    await run.stop();
  };

  it('lists activities page by page, with what is left, paid and owed', async () => {
    for (const id of ['a', 'b', 'c']) await bench.packets.create(figures(id, 4));
    await grab('b', 'ann', 'bob', 'mallory');
    await pay('b', 1);
    await grab('b', 'zoe');
    const rows = await allRows(section, ALL, 2);
    expect(rows.map(({ activity }) => activity).sort()).toEqual(['a', 'b', 'c']);
    expect(rows.find(({ activity }) => activity === 'b')).toMatchObject({
      ...{ state: 'sold-out', totalCents: 400, packets: 4, remainingPackets: 0, grantedPackets: 4 },
      ...{ paidPackets: 2, openPayouts: 1, deadPayouts: 1 },
    });
    expect((await section.list(ALL, { limit: 1 })).total).toBe(3);
    expect(await figuresOf(section)).toEqual({ activities: 3, codes: ['payouts-dead'] });
  });

  it('shows the books of an activity, and that they add up to the cent', async () => {
    await bench.packets.create({ ...figures('rain', 8, 1_003), buckets: 2 });
    await grab('rain', 'ann', 'bob');
    const story = await section.show([...ALL, 'rain']);
    const facts = await factsOf(section, [...ALL, 'rain']);
    expect(facts).toMatchObject({ state: 'open', totalCents: 1_003, packets: 8, grantedPackets: 2, openPayouts: 2 });
    expect((facts.remainingCents as number) + (facts.grantedCents as number)).toBe(1_003);
    expect(facts.codes).toEqual(['activity-state', 'books-add-up', 'payouts-open']);
    expect(facts.actions).toEqual(['pause', 'close']);
    const lists = Object.fromEntries((story?.lists ?? []).map(({ name, listing }) => [name, rowsOf(listing)]));
    expect(Object.keys(lists)).toEqual(['buckets', 'winners']);
    const cents = (lists.buckets ?? []).map(({ allottedCents }) => allottedCents as number);
    expect(cents.reduce((sum, each) => sum + each, 0)).toBe(1_003);
    const won = await bench.packets.packetOf('rain', 'ann');
    expect(lists.winners).toContainEqual({ user: 'ann', ...won });
    expect(await allRows(section, [...ALL, 'rain', 'winners'], 1)).toHaveLength(2);
    expect(await factsOf(section, [...ALL, 'rain', 'winners', 'ann'])).toMatchObject({ activity: 'rain', ...won });
    expect(await section.show([...ALL, 'rain', 'winners', 'zoe'])).toBeUndefined();
    expect(await section.show([...ALL, 'none'])).toBeUndefined();
  });

  it('says what is wrong with books that do not add up', async () => {
    await bench.packets.create(equal('rain', 3));
    await bench.raw.rpop(bench.keysOf('rain').pool);
    expect((await factsOf(section, [...ALL, 'rain'])).codes).toContain('books-do-not-add-up');
    const problems = (await section.show([...ALL, 'rain']))?.lists?.find(({ name }) => name === 'problems');
    expect(rowsOf(problems?.listing as never)[0]?.problem).toMatch(/bucket 0/);
  });

  it('pauses, resumes and closes an activity, and refuses if it has changed since', async () => {
    await bench.packets.create(equal('rain', 3));
    const address = [...ALL, 'rain'];
    expect(await act(section, 'pause', address)).toEqual({ count: 1 });
    expect(await factsOf(section, address)).toMatchObject({ state: 'paused', actions: ['resume', 'close'] });
    expect((await bench.packets.grab('rain', 'ann')).status).toBe('not-open');
    expect(await act(section, 'pause', address)).toMatchObject({ count: 0, refused: { code: 'activity-state' } });
    const { expected } = await section.preview('close', { address }, {});
    expect(await act(section, 'resume', address)).toEqual({ count: 1 });
    expect(await section.run('close', { address }, {}, expected)).toMatchObject({
      refused: { code: 'activity-changed' },
    });
    expect((await bench.packets.grab('rain', 'ann')).status).toBe('won');
    expect(await section.preview('close', { address }, {})).toMatchObject({
      sentence: { code: 'activity-close-what-for', values: { packets: 2, cents: 200 } },
    });
    expect(await act(section, 'close', address)).toEqual({ count: 1 });
    expect(await bench.packets.status('rain')).toMatchObject({
      state: 'closed',
      refundedPackets: 2,
      refundedCents: 200,
    });
    expect(await act(section, 'close', address)).toMatchObject({ count: 0, refused: { code: 'activity-state' } });
  });

  it('lists dead-lettered payouts, replays one, and drops the others', async () => {
    await bench.packets.create(figures('rain', 5));
    await grab('rain', 'mallory-1', 'mallory-2', 'mallory-3', 'ann');
    await pay('rain', 3);
    const list = [...ALL, 'rain', 'dead-payouts'];
    const dead = await allRows(section, list, 2);
    expect(dead.map(({ user }) => user).sort()).toEqual(['mallory-1', 'mallory-2', 'mallory-3']);
    const [first] = dead as [Record<string, unknown>];
    expect(first.error).toMatch('no account');
    const address = [...list, first.payout as string];
    expect(await factsOf(section, address)).toMatchObject({ attemptsMade: 1, actions: ['replay', 'drop'] });
    expect((await factsOf(section, address)).payload).toMatchObject({ payload: { userId: first.user } });
    expect(await section.preview('replay', { address }, {})).toMatchObject({ count: 1 });
    expect(await act(section, 'replay', address)).toEqual({ count: 1 });
    expect(await bench.payouts.stats('rain')).toEqual({ open: 1, deadLetters: 2 });
    expect(await section.show(address)).toBeUndefined();
    const all = { list };
    expect(await section.preview('drop', all, {})).toMatchObject({ count: 2, more: false });
    expect(await section.run('drop', all, {}, undefined)).toEqual({ count: 2 });
    expect(await bench.payouts.stats('rain')).toEqual({ open: 1, deadLetters: 0 });
    await expect(section.run('drop', { list, filter: 'x' }, {}, undefined)).rejects.toThrow('no filter');
    await expect(section.run('drop', { list: ALL }, {}, undefined)).rejects.toThrow('red-packets/activities');
  });

  it('replays all payouts of an activity, as its sentence proposes', async () => {
    await bench.packets.create(figures('rain', 2));
    await grab('rain', 'mallory', 'mallory-2');
    await pay('rain', 2);
    const story = await section.show([...ALL, 'rain']);
    expect(await countOfFix(section, story?.sentences, 'payouts-dead')).toBe(2);
    expect(await act(section, 'replay', [...ALL, 'rain'])).toEqual({ count: 2 });
    expect(await bench.payouts.stats('rain')).toEqual({ open: 2, deadLetters: 0 });
  });

  it('finds an activity, and a user in the newest activities', async () => {
    for (const id of ['one', 'two']) await bench.packets.create(equal(id, 2));
    await grab('two', 'ann');
    expect(await section.find('one')).toMatchObject([
      { address: [...ALL, 'one'], kind: 'activity', sentence: { code: 'activity-state' } },
    ]);
    expect(await section.find('ann')).toMatchObject([
      {
        address: [...ALL, 'two', 'winners', 'ann'],
        kind: 'user',
        sentence: { code: 'user-won', values: { activity: 'two', amountCents: 100 } },
      },
    ]);
    for (const none of ['nobody', '', 'x'.repeat(300)]) expect(await section.find(none)).toEqual([]);
  });
});
