import { Logger } from '@nestjs/common';
import { eventually } from '../../../test/support/wait';
import { openBench, servers, type Bench } from '../../lock/test/support';
import type { Section } from '../src/console.types';
import { locksSection } from '../src/sections/locks';
import { act, allRows, factsOf, figuresOf, sectionOf } from './section-support';

Logger.overrideLogger(false);

const LONG = { leaseMs: 600_000, waitMs: 600_000 };

describe.each(servers)('the section of locks on %s', (_, connect) => {
  let bench: Bench;
  let section: Section;
  beforeEach(async () => {
    bench = await openBench(connect(), { node: 'worker-1' });
    section = sectionOf(locksSection, { LockService: bench.locks });
  });
  afterEach(() => bench.close());

  it('lists the locks that are held, and no other', async () => {
    const names = Array.from({ length: 30 }, (_, i) => `lock-${i}`).concat('a{b}:%7D');
    const before = Date.now();
    for (const name of names) await bench.locks.acquire(name, LONG);
    await (await bench.locks.acquire('released')).release();
    const rows = await allRows(section, ['locks', 'held'], 10);
    expect(new Set(rows.map(({ name }) => name))).toEqual(new Set(names));
    for (const row of rows) {
      expect(row).toMatchObject({ node: 'worker-1', waiters: 0 });
      expect(row.acquiredAtMs).toBeGreaterThanOrEqual(before - 5_000);
      expect(row.leaseEndsAtMs).toBeGreaterThan(Date.now() + 300_000);
      expect(row.fence).toBeGreaterThan(1e15);
    }
    expect(await figuresOf(section)).toEqual({ heldByThisProcess: names.length, codes: [] });
  });

  it('says who waits for a lock, in the list and in its story', async () => {
    const held = await bench.locks.acquire('busy', LONG);
    await bench.locks.acquire('idle', LONG);
    const waits = bench.locks.acquire('busy', LONG);
    const address = ['locks', 'held', 'busy'];
    await eventually(async () =>
      expect(await factsOf(section, address)).toMatchObject({
        ...{ state: 'held', node: 'worker-1', waiters: 1, fence: held.fence },
        ...{ codes: ['lock-waited-for'], actions: ['release'] },
      }),
    );
    expect((await factsOf(section, address)).waitingSinceMs).toBeGreaterThan(Date.now() - 60_000);
    expect(await allRows(section, ['locks', 'held'], 50, 'waited-for')).toMatchObject([{ name: 'busy', waiters: 1 }]);
    await held.release();
    await (await waits).release();
    expect(await factsOf(section, address)).toMatchObject({ state: 'free', codes: ['lock-free'], actions: [] });
  });

  it('finds a lock by its name, also a free one', async () => {
    const lock = await bench.locks.acquire('order-7', LONG);
    const address = ['locks', 'held', 'order-7'];
    const found = { address, kind: 'lock', title: 'order-7' };
    expect(await section.find('order-7')).toMatchObject([{ ...found, sentence: { code: 'lock-held' } }]);
    await lock.release();
    expect(await section.find('order-7')).toMatchObject([{ ...found, sentence: { code: 'lock-free' } }]);
    for (const none of ['order', '', 'x'.repeat(2_000)]) expect(await section.find(none)).toEqual([]);
    expect(await section.show(['locks', 'held', 'order'])).toBeUndefined();
  });

  it('releases a lock, and its holder loses it', async () => {
    const lock = await bench.locks.acquire('stuck', LONG);
    const address = ['locks', 'held', 'stuck'];
    expect(await section.preview('release', { address }, {})).toMatchObject({
      count: 1,
      expected: String(lock.fence),
      sentence: { code: 'lock-release-what-for', values: { node: 'worker-1' } },
    });
    expect(await act(section, 'release', address)).toEqual({ count: 1 });
    expect(lock.held).toBe(false);
    expect(await bench.locks.status('stuck')).toMatchObject({ held: false });
    expect(await section.preview('release', { address }, {})).toMatchObject({
      count: 0,
      sentence: { code: 'lock-free' },
    });
  });

  it('never releases the lock of a later holder, nor one that was not seen', async () => {
    const first = await bench.locks.acquire('moved', LONG);
    const target = { address: ['locks', 'held', 'moved'] };
    const { expected } = await section.preview('release', target, {});
    await first.release();
    const second = await bench.locks.acquire('moved', LONG);
    expect(await section.run('release', target, {}, expected)).toMatchObject({
      count: 0,
      refused: { code: 'lock-changed' },
    });
    for (const none of [undefined, '', '0', 'all']) {
      expect(await section.run('release', target, {}, none)).toMatchObject({ refused: { code: 'lock-needs-fence' } });
    }
    second.assertHeld();
    expect(await bench.locks.status('moved')).toMatchObject({ held: true, fence: second.fence });
  });

  it('refuses other actions, all locks at once, and unknown addresses', async () => {
    const one = { address: ['locks', 'held', 'a'] };
    await expect(section.run('drop', one, {}, '1')).rejects.toThrow('no action "drop". Known: release.');
    await expect(section.run('release', { list: ['locks', 'held'] }, {}, '1')).rejects.toThrow('is for one thing');
    await expect(section.run('release', { address: ['locks', 'free', 'a'] }, {}, '1')).rejects.toThrow('locks/free/a');
    await expect(section.list(['locks', 'free'], { limit: 10 })).rejects.toThrow('locks/free');
  });
});

it('an app without LockModule has no such section', () => {
  expect(() => sectionOf(locksSection, {})).toThrow('No section was made');
});
