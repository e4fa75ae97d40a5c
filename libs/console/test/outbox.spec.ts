import { openBench, openPostgres, type Bench } from '../../outbox/test/support';
import type { Section } from '../src/console.types';
import { outboxSection } from '../src/sections/outbox';
import { act, allRows, countOfFix, factsOf, figuresOf, sectionOf } from './section-support';

let postgres: Awaited<ReturnType<typeof openPostgres>>;
let bench: Bench;
let section: Section;
let nowMs: number;
beforeAll(async () => {
  postgres = await openPostgres();
}, 60_000);
afterAll(() => postgres.stop());
beforeEach(async () => {
  nowMs = Date.now();
  bench = await openBench({ pool: postgres.pool, relay: false });
  section = sectionOf(outboxSection, { OutboxService: bench.outbox }, () => nowMs);
});
afterEach(() => bench.close());

/** Writes tasks, and sets them aside for an error. */
async function rows(count: number, error?: string): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push((await bench.outbox.schedule(bench.query, 'job', { n })).id);
  if (error === undefined) return ids;
  const list = JSON.stringify(ids);
  const changed = `SELECT json_array_elements_text($1::text::json)`;
  await bench.query(
    `UPDATE ${bench.table} SET first_sent_at = now(), failed_at = now(), error = $2 WHERE id::text IN (${changed})`,
    [list, error],
  );
  return ids;
}

it('counts the rows of each state, lists them page by page, and shows one', async () => {
  const [waiting, failed, undecided] = [
    await rows(3),
    await rows(2, 'INVALID_INPUT: no'),
    await rows(1, 'UNDECIDED: ?'),
  ];
  expect((await allRows(section, ['outbox', 'waiting'], 2)).map(({ row }) => row)).toEqual(waiting);
  expect(await allRows(section, ['outbox', 'failed'])).toMatchObject(
    failed.map((row) => ({ row, kind: 'task', target: 'default/job', error: 'INVALID_INPUT: no' })),
  );
  expect(await figuresOf(section)).toMatchObject({
    ...{ waiting: 3, failed: 2, undecided: 1, oldestMs: expect.any(Number) as number },
    codes: ['outbox-failed', 'outbox-undecided'],
  });
  expect(await countOfFix(section, (await section.summary()).sentences, 'outbox-failed')).toBe(2);
  expect(await factsOf(section, ['outbox', 'failed', failed[1] as string])).toMatchObject({
    ...{ state: 'failed', kind: 'task', target: 'default/job', error: 'INVALID_INPUT: no' },
    ...{ payload: { payload: { n: 1 } }, codes: ['row-failed'], actions: ['retry', 'drop'] },
  });
  expect(await factsOf(section, ['outbox', 'waiting', waiting[0] as string])).toMatchObject({
    ...{ firstSentAtMs: null, codes: ['row-waits'], actions: [] },
  });
  expect(await section.find(undecided[0] as string)).toMatchObject([
    { address: ['outbox', 'undecided', undecided[0]], kind: 'task', sentence: { code: 'row-undecided' } },
  ]);
  expect(await section.show(['outbox', 'waiting', failed[0] as string])).toBeUndefined();
  expect(await section.find('order-7')).toEqual([]);
});

it('says that rows wait too long, and counts the table once in 10 s', async () => {
  await rows(1);
  await bench.query(`UPDATE ${bench.table} SET created_at = now() - interval '5 minutes'`, []);
  expect(await figuresOf(section)).toMatchObject({ waiting: 1, codes: ['outbox-late'] });
  await rows(2);
  nowMs += 9_000;
  expect(await figuresOf(section)).toMatchObject({ waiting: 1 });
  nowMs += 1_000;
  expect(await figuresOf(section)).toMatchObject({ waiting: 3 });
});

it('retries and drops one row, or all of a state', async () => {
  const [a, b, c] = (await rows(3, 'INVALID_INPUT: no')) as [string, string, string];
  const [undecided] = (await rows(1, 'UNDECIDED: ?')) as [string];
  const list = ['outbox', 'failed'];
  expect(await figuresOf(section)).toMatchObject({ failed: 3 });
  expect(await act(section, 'retry', [...list, a])).toEqual({ count: 1 });
  expect(await figuresOf(section)).toMatchObject({ waiting: 1, failed: 2 });
  // It waits now, so it is no longer an address of this list.
  expect(await act(section, 'drop', [...list, a])).toEqual({ count: 0 });
  expect(await section.preview('drop', { list }, {})).toEqual({ count: 2, more: false, samples: [b, c] });
  expect(await section.run('drop', { list }, {}, undefined)).toEqual({ count: 2 });
  const address = ['outbox', 'undecided', undecided];
  expect(await section.preview('retry', { address }, {})).toMatchObject({
    count: 1,
    sentence: { code: 'row-may-act-twice' },
  });
  expect(await bench.outbox.stats()).toMatchObject({ waiting: 1, failed: 0, undecided: 1 });
  await expect(section.run('drop', { list: ['outbox', 'waiting'] }, {}, undefined)).rejects.toThrow(
    'Only rows that were set aside',
  );
  await expect(section.run('drop', { list, filter: 'x' }, {}, undefined)).rejects.toThrow('no filter');
  await expect(section.run('send', { list }, {}, undefined)).rejects.toThrow('Known: retry, drop');
});

it('reads the numbers again after an error of the database', async () => {
  await rows(1);
  await bench.query(`ALTER TABLE ${bench.table} RENAME TO ${bench.table}_gone`, []);
  await expect(section.summary()).rejects.toThrow('does not exist');
  await bench.query(`ALTER TABLE ${bench.table}_gone RENAME TO ${bench.table}`, []);
  expect(await figuresOf(section)).toMatchObject({ waiting: 1 });
});
