import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { defineTask } from 'luanest/delayed-task';
import { NotSentError } from 'luanest/script-registry';
import { OutboxEvents, type SqlQuery } from 'luanest/outbox';
import { defineStream } from 'luanest/stream-consumer';
import { eventually } from '../../../test/support/wait';
import { databases, openBench, openPostgres, pgDatabase, type Bench, type BenchOptions } from './support';

const HOUR = 3_600_000;
const PATIENT = { timeoutMs: 30_000 };

let postgres: Awaited<ReturnType<typeof openPostgres>>;
const benches: Bench[] = [];
beforeAll(async () => {
  postgres = await openPostgres();
}, 60_000);
afterAll(async () => {
  await postgres.stop();
});
afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.close();
});

async function open(options: Omit<BenchOptions, 'pool'> = {}): Promise<Bench> {
  const bench = await openBench({ pool: postgres.pool, ...options });
  benches.push(bench);
  return bench;
}

/** Collects the payloads of the messages of a stream. */
async function read(bench: Bench, stream: string): Promise<unknown[]> {
  const seen: unknown[] = [];
  await bench.streams.handle({ stream, group: 'g' }, ({ payload }) => void seen.push(payload));
  return seen;
}

async function columns(bench: Bench, sql: string): Promise<unknown[]> {
  const result = (await bench.query(`SELECT ${sql} AS value FROM ${bench.table} ORDER BY seq`, [])) as {
    rows: { value: unknown }[];
  };
  return result.rows.map(({ value }) => value);
}

function heard<E extends keyof OutboxEvents>(event: E, bench: Bench): { events: OutboxEvents[E][]; stop(): void } {
  const events: OutboxEvents[E][] = [];
  const listener = (message: unknown): void => {
    if ((message as OutboxEvents[E]).table === bench.table) events.push(message as OutboxEvents[E]);
  };
  subscribe(OutboxEvents[event], listener);
  return { events, stop: () => void unsubscribe(OutboxEvents[event], listener) };
}

describe.each(Object.entries(databases))('with the calls of %s', (_, make) => {
  it('a row of a transaction that rolls back never was, and one of a commit arrives once', async () => {
    const bench = await open({ database: make(postgres.pool), batch: 3 });
    const { outbox, database, tasks } = bench;
    const ran: unknown[] = [];
    tasks.handle('job', (payload) => void ran.push(payload));
    tasks.onApplicationBootstrap();
    const seen = await read(bench, 'orders');
    outbox.onApplicationBootstrap();
    const lost = database.transaction(async (query) => {
      await outbox.schedule(query, 'job', 'never');
      await outbox.publish(query, 'orders', 'never');
      throw new Error('rolled back');
    });
    await expect(lost).rejects.toThrow('rolled back');
    const written = await database.transaction(async (query) => {
      const all = [];
      for (let n = 0; n < 5; n++) {
        all.push(await outbox.schedule(query, 'job', n, { id: `job-${n}` }));
        all.push(await outbox.publish(query, 'orders', { n }));
      }
      return all;
    });
    expect(written[0]).toMatchObject({ id: expect.stringMatching(/^[\da-f-]{36}$/) as string, taskId: 'job-0' });
    outbox.wake();
    await eventually(() => expect([ran.length, seen.length]).toEqual([5, 5]), PATIENT);
    expect([...ran].sort()).toEqual([0, 1, 2, 3, 4]);
    await eventually(
      async () => expect(await outbox.stats()).toEqual({ waiting: 0, oldestMs: undefined, failed: 0, undecided: 0 }),
      PATIENT,
    );
    expect([ran.length, seen.length]).toEqual([5, 5]);
  });

  it('an operator lists, retries and drops what was set aside', async () => {
    const { outbox, query, table, database } = await open({ database: make(postgres.pool), relay: false });
    const ids: string[] = [];
    await database.transaction(async (own) => {
      for (let n = 0; n < 3; n++) ids.push((await outbox.schedule(own, 'job', n)).id);
      expect(await outbox.stats(own)).toMatchObject({ waiting: 3 });
    });
    await query(`UPDATE ${table} SET failed_at = now(), error = 'INVALID_INPUT: no'`, []);
    const first = await outbox.list({ state: 'failed', limit: 2 });
    expect(first.items.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    expect(first.items[0]).toMatchObject({
      kind: 'task',
      target: 'default/job',
      payload: '0',
      error: 'INVALID_INPUT: no',
    });
    const last = await outbox.list({ state: 'failed', limit: 2, cursor: first.nextCursor });
    expect([last.items.map(({ id }) => id), last.nextCursor]).toEqual([[ids[2]], undefined]);
    const [a, b, c] = ids as [string, string, string];
    expect(await outbox.retry([a])).toBe(1);
    expect(await outbox.drop([a, b])).toBe(1);
    expect(await outbox.stats()).toMatchObject({ waiting: 1, failed: 1, undecided: 0 });
    expect((await outbox.list({ state: 'waiting' })).items).toMatchObject([
      { id: a, firstSentAtMs: undefined, error: undefined },
    ]);
    expect((await outbox.list({ state: 'failed' })).items).toMatchObject([{ id: c }]);
  });
});

it('what schedule and publish refuse, is refused before the row is written', async () => {
  const { outbox, query } = await open({ relay: false });
  const stream = defineStream<string>({ name: 'small', maxPayloadBytes: 4 });
  const foreign = defineStream({ name: 'theirs', keys: ['theirs'] });
  const task = (...args: [unknown, unknown?, object?]) =>
    outbox.schedule(query, ...(args as [string, unknown, object]));
  const message = (...args: [unknown, unknown?, object?]) =>
    outbox.publish(query, ...(args as [string, unknown, object]));
  const refused: [() => Promise<unknown>, string][] = [
    [() => task(''), 'name is ""'],
    [() => task('a\nb'), 'name is'],
    [() => task('t', 1n), 'cannot be written as JSON'],
    [() => task('t', 'x'.repeat(70_000)), 'At most 65536 bytes are allowed (maxPayloadBytes)'],
    [() => task('t', 1, { id: '' }), 'id is ""'],
    [() => task('t', 1, { delayMs: 1, runAtMs: 1 }), 'Set only one of the two'],
    [() => task('t', 1, { delayMs: 1.5 }), 'delayMs is 1.5'],
    [() => task('t', 1, { queue: 'none' }), 'DelayedTaskModule has no queue "none"'],
    [() => task('t', 1, { attempts: 0 }), 'attempts is 0'],
    [() => task('t', 1, { onConflict: 'maybe' }), 'onConflict is "maybe"'],
    [() => task('t', 1, { group: '' }), 'group is ""'],
    [() => task('t', 1, { operationId: 'o' }), 'operationId is set'],
    [() => task('t', 1, { operationRetentionMs: 1_000 }), 'operationRetentionMs is 1000'],
    [() => task('t', 1, { delay: 1 }), 'no option "delay"'],
    [() => task('t', 1, null as never), 'options is null'],
    [() => message('no spaces'), 'stream is "no spaces"'],
    [() => message('s', undefined), 'JSON.stringify() returns undefined'],
    [() => message(stream, 'long'), 'At most 4 bytes are allowed (maxPayloadBytes)'],
    [() => message(foreign, 1), 'another program writes it'],
    [() => message('s', 1, { key: '\u0000' }), 'key of the message is'],
    [() => message('s', 1, { operationId: 'o' }), 'operationId is set'],
    [() => message('s', 1, { topic: 1 }), 'no option "topic"'],
    [() => outbox.schedule(undefined as unknown as SqlQuery, 't'), 'query is undefined'],
    [() => outbox.list({ state: 'any' as never }), 'state is "any"'],
    [() => outbox.list({ state: 'failed', cursor: "0'; DROP" }), 'cursor is'],
    [() => outbox.list({ state: 'failed', limit: 0 }), 'limit is 0'],
    [() => outbox.retry(['1; DROP TABLE x']), 'ids[0] is'],
    [() => outbox.drop('all' as never), 'ids is "all"'],
  ];
  for (const [call, text] of refused) await expect(call()).rejects.toThrow(text);
  expect(await outbox.stats()).toMatchObject({ waiting: 0, failed: 0 });
});

it('payloads, ids and keys of any text arrive as they were', async () => {
  const bench = await open({ table: 'public.Some_Table' });
  const { outbox, query, tasks } = bench;
  const hostile = [
    `'; DROP TABLE "x"; --`,
    '$1 $2 %s \\',
    '\u0000 \ud800 \u2028 \u{1f600}',
    { ['__proto__']: 1, constructor: null, '': [1e21, -0, 'é'] },
    [null, [], {}],
    '"',
    null,
  ].map((value) => JSON.parse(JSON.stringify(value)) as unknown);
  const ran = new Map<string, unknown>();
  tasks.handle(`o'clock $1 "q"`, (payload, { id }) => void ran.set(id, payload));
  tasks.onApplicationBootstrap();
  const seen = new Map<string, unknown>();
  await bench.streams.handle({ stream: 's', group: 'g' }, ({ payload, key = '' }) => void seen.set(key, payload));
  for (const [n, payload] of hostile.entries()) {
    const id = `${n} '"\\ $1 {x} \u{1f600}`;
    await outbox.schedule(query, `o'clock $1 "q"`, payload, { id, group: `'${n}` });
    await outbox.publish(query, 's', payload, { key: id });
  }
  outbox.onApplicationBootstrap();
  await eventually(() => expect([ran.size, seen.size]).toEqual([hostile.length, hostile.length]), PATIENT);
  for (const [n, payload] of hostile.entries()) {
    const id = `${n} '"\\ $1 {x} \u{1f600}`;
    expect(JSON.stringify(ran.get(id))).toBe(JSON.stringify(payload));
    expect(JSON.stringify(seen.get(id))).toBe(JSON.stringify(payload));
  }
});

it('a task has the settings of its definition and of the call', async () => {
  const { outbox, query, tasks } = await open({ tasks: { queues: { pdf: {} } } });
  const pdf = defineTask<string>({ name: 'pdf', queue: 'pdf', attempts: 7, keepResultMs: 9 });
  await outbox.schedule(query, pdf, 'a', { id: 'a', delayMs: HOUR, attempts: undefined, group: 'shop' });
  await outbox.schedule(query, 'plain', 'b', { id: 'b', runAtMs: 4_102_444_800_000, attempts: 2 });
  outbox.onApplicationBootstrap();
  await eventually(async () => {
    expect(await tasks.queue('pdf').get('a')).toMatchObject({ name: 'pdf', payload: 'a', attempts: 7, group: 'shop' });
    expect(await tasks.get('b')).toMatchObject({ attempts: 2, atMs: 4_102_444_800_000 });
  }, PATIENT);
});

it('a delay counts from the call, by the clock of the database', async () => {
  const { outbox, query, tasks, table, raw } = await open();
  await outbox.schedule(query, 't', 1, { id: 'half', delayMs: HOUR });
  await outbox.schedule(query, 't', 1, { id: 'late', delayMs: HOUR / 4 });
  await outbox.schedule(query, 't', 1, { id: 'now' });
  await query(`UPDATE ${table} SET created_at = created_at - interval '30 minutes'`, []);
  const [seconds] = await raw.time();
  outbox.onApplicationBootstrap();
  await eventually(async () => expect(await outbox.stats()).toMatchObject({ waiting: 0 }), PATIENT);
  const nowMs = Number(seconds) * 1_000;
  const due = async (id: string): Promise<number> => ((await tasks.get(id))?.atMs ?? NaN) - nowMs;
  expect(await due('half')).toBeGreaterThan(HOUR / 2 - 60_000);
  expect(await due('half')).toBeLessThanOrEqual(HOUR / 2 + 60_000);
  for (const id of ['late', 'now']) expect(Math.abs(await due(id))).toBeLessThan(60_000);
});

it('messages of a key stay in order, also when several relays send them', async () => {
  const first = await open({ batch: 7 });
  const more = [0, 1].map(() => open({ batch: 5, table: first.table, prefix: prefixOf(first) }));
  const relays = [first, ...(await Promise.all(more))];
  const seen: { key: string; n: number }[] = [];
  const stream = defineStream<number>({ name: 'ordered', partitions: 3 });
  await first.streams.handle({ stream, group: 'g', ordered: true, concurrency: 1 }, ({ key = '', payload }) => {
    seen.push({ key, n: payload });
  });
  for (const { outbox } of relays) outbox.onApplicationBootstrap();
  const keys = ['a', 'b', 'c', 'd'];
  for (let n = 0; n < 40; n++) {
    await first.database.transaction(async (query) => {
      for (const key of keys) await first.outbox.publish(query, stream, n, { key });
    });
    (relays[n % 3] as Bench).outbox.wake();
  }
  await eventually(() => expect(seen).toHaveLength(160), PATIENT);
  const wanted = Array.from({ length: 40 }, (_, n) => n);
  for (const key of keys) expect(seen.filter((one) => one.key === key).map(({ n }) => n)).toEqual(wanted);
  await eventually(async () => expect(await first.outbox.stats()).toMatchObject({ waiting: 0 }), PATIENT);
  // Redis got each row from one relay, once.
  const sent = relays.flatMap(({ published }) => published);
  expect([sent.length, new Set(sent).size]).toEqual([160, 160]);
});

function prefixOf(bench: Bench): string {
  return bench.registry.keySpace('delayed-task').tag('x').key('y').split(':')[0] as string;
}

it('an idle relay, and one of several, asks Redis nothing', async () => {
  const bench = await open();
  let looks = 0;
  const database = pgDatabase(postgres.pool);
  const watched = await open({
    table: bench.table,
    database: { transaction: (work) => database.transaction((query) => ((looks += 1), work(query))) },
  });
  const calls = jest.spyOn(watched.registry, 'run');
  watched.outbox.onApplicationBootstrap();
  await eventually(() => expect(looks).toBeGreaterThan(5), PATIENT);
  expect(calls).not.toHaveBeenCalled();
});

it('a row that is refused is set aside, and others go on', async () => {
  const bench = await open();
  const { outbox, query, table } = bench;
  const failed = heard('rowFailed', bench);
  const seen = await read(bench, 's');
  for (const n of [0, 1, 2, 3, 4, 5]) await outbox.publish(query, 's', n, { key: 'k' });
  await outbox.schedule(query, 't', 1);
  const change = (n: number, set: string) =>
    query(`UPDATE ${table} SET ${set} WHERE payload = '${n}' AND kind = 'message'`, []);
  await change(0, `payload = '{'`);
  await change(2, `options = 'null'`);
  await change(4, `options = '{"retainMs":60000,"message":{"key":"\\u0000\\ud800"},"stream":{}}'`);
  await query(`UPDATE ${table} SET target = 'default/' WHERE kind = 'task'`, []);
  outbox.onApplicationBootstrap();
  await eventually(() => expect(seen).toEqual([1, 3, 5]), PATIENT);
  await eventually(
    async () => expect(await outbox.stats()).toMatchObject({ waiting: 0, failed: 4, undecided: 0 }),
    PATIENT,
  );
  failed.stop();
  expect(failed.events.map(({ kind, undecided }) => [kind, undecided])).toHaveLength(4);
  const { items } = await outbox.list({ state: 'failed' });
  expect(items.map(({ error }) => error?.split(':')[0])).toEqual([
    'its payload or options are not JSON',
    'INVALID_INPUT',
    'INVALID_INPUT',
    'INVALID_INPUT',
  ]);
  // Repaired by the operator, it is sent.
  await query(`UPDATE ${table} SET payload = '0' WHERE payload = '{'`, []);
  expect(await outbox.retry(items.map(({ id }) => id).slice(0, 1))).toBe(1);
  await eventually(() => expect(seen).toEqual([1, 3, 5, 0]), PATIENT);
});

it('rows for a full stream wait, in order, and hold up no other stream', async () => {
  const bench = await open({ batch: 2 });
  const { outbox, query, streams } = bench;
  const full = defineStream<number>({ name: 'full', maxLength: 3 });
  for (let n = 0; n < 10; n++) await outbox.publish(query, full, n, { key: 'k' });
  for (let n = 0; n < 5; n++) await outbox.publish(query, 'other', n);
  const others = await read(bench, 'other');
  const failures = heard('callFailed', bench);
  outbox.onApplicationBootstrap();
  await eventually(() => expect(others).toHaveLength(5), PATIENT);
  await eventually(() => expect(failures.events.length).toBeGreaterThan(0), PATIENT);
  failures.stop();
  expect(String(failures.events[0]?.error)).toContain('is full');
  await eventually(async () => expect(await outbox.stats()).toMatchObject({ waiting: 7, failed: 0 }), PATIENT);
  // They had no effect, so they can be sent at any later time.
  await eventually(
    async () => expect(new Set(await columns(bench, 'first_sent_at'))).toEqual(new Set([null])),
    PATIENT,
  );
  const seen: number[] = [];
  await streams.handle({ stream: full, group: 'g', ordered: true }, ({ payload }) => void seen.push(payload));
  await eventually(() => expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), PATIENT);
});

it('rows for a queue that this process does not have wait for another process', async () => {
  const first = await open({ tasks: { queues: { later: {} } } });
  const old = await open({ table: first.table, prefix: prefixOf(first) });
  await first.outbox.schedule(first.query, 't', 1, { id: 'a', queue: 'later', delayMs: HOUR });
  const failures = heard('callFailed', old);
  old.outbox.onApplicationBootstrap();
  await eventually(() => expect(failures.events.length).toBeGreaterThan(0), PATIENT);
  failures.stop();
  expect(await first.outbox.stats()).toMatchObject({ waiting: 1, failed: 0 });
  first.outbox.onApplicationBootstrap();
  await eventually(
    async () => expect(await first.tasks.queue('later').get('a')).toMatchObject({ payload: 1 }),
    PATIENT,
  );
});

it('a row that may have taken effect is sent again while Redis remembers it, and is undecided later', async () => {
  const bench = await open();
  const { outbox, query, table } = bench;
  const failed = heard('rowFailed', bench);
  const seen = await read(bench, 's');
  // Sent an hour ago by a process that died before it could delete them.
  const ids = [];
  for (const n of [0, 1]) ids.push((await outbox.publish(query, 's', n)).id);
  await bench.streams.publish('s', 'from the process that died', { operationId: ids[0] as string });
  await query(`UPDATE ${table} SET first_sent_at = now() - interval '1 hour'`, []);
  outbox.onApplicationBootstrap();
  await eventually(async () => expect(await outbox.stats()).toMatchObject({ waiting: 0, undecided: 0 }), PATIENT);
  await eventually(() => expect([...seen].sort()).toEqual([1, 'from the process that died']), PATIENT);

  await outbox.beforeApplicationShutdown();
  const later = await open({ table });
  const { id } = await later.outbox.publish(query, 's', 2);
  await query(`UPDATE ${table} SET first_sent_at = now() - interval '13 hours'`, []);
  await later.outbox.publish(query, 's', 3);
  later.outbox.onApplicationBootstrap();
  await eventually(
    async () => expect(await later.outbox.stats()).toMatchObject({ waiting: 0, undecided: 1, failed: 0 }),
    PATIENT,
  );
  failed.stop();
  expect(later.published).not.toContain(id);
  expect(failed.events).toEqual([{ table, id, kind: 'message', target: 's', undecided: true }]);
  const { items } = await later.outbox.list({ state: 'undecided' });
  expect(items).toMatchObject([{ id, error: expect.stringMatching(/^UNDECIDED: /) as string }]);
  expect((await later.outbox.list({ state: 'failed' })).items).toEqual([]);
  expect(await later.outbox.retry([id])).toBe(1);
  await eventually(() => expect(later.published).toContain(id), PATIENT);
});

it('a message goes to the partition that its stream had when it was written', async () => {
  const before = await open({ relay: false });
  const after = await open({ table: before.table, prefix: prefixOf(before) });
  const wide = defineStream<number>({ name: 'wide', partitions: 8 });
  const { id } = await before.outbox.publish(before.query, defineStream<number>({ name: 'wide' }), 1, { key: 'k' });
  await after.streams.publish(wide, 0, { key: 'k' });
  // The first sending, of which the row was not deleted.
  await before.streams.publish('wide', 1, { operationId: id, key: 'k' });
  const seen: number[] = [];
  await after.streams.handle({ stream: wide, group: 'g' }, ({ payload }) => void seen.push(payload));
  after.outbox.onApplicationBootstrap();
  await eventually(async () => expect(await after.outbox.stats()).toMatchObject({ waiting: 0 }), PATIENT);
  await eventually(() => expect([...seen].sort()).toEqual([0, 1]), PATIENT);
});

/** Holds up all calls to Redis until the returned function is called. */
function holdUp({ registry }: Bench): () => void {
  const run = registry.run.bind(registry);
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  jest.spyOn(registry, 'run').mockImplementation(async (...args: Parameters<typeof run>) => {
    await opened;
    return run(...args);
  });
  return open;
}

it('shutdown ends the round, and sends nothing afterwards', async () => {
  const bench = await open({ batch: 2 });
  const { outbox, query, published } = bench;
  for (let n = 0; n < 6; n++) await outbox.publish(query, 's', n);
  const release = holdUp(bench);
  outbox.onApplicationBootstrap();
  await eventually(() => expect(published).toHaveLength(2), PATIENT);
  outbox.onModuleDestroy();
  release();
  await outbox.beforeApplicationShutdown();
  expect(await outbox.stats()).toMatchObject({ waiting: 4 });
  outbox.wake();
  outbox.onApplicationBootstrap();
  expect(published).toHaveLength(2);
});

it('shutdown waits for at most drainMs', async () => {
  const bench = await open({ drainMs: 50 });
  const { outbox, query, published } = bench;
  for (const n of [1, 2]) await outbox.publish(query, 's', n, { key: 'k' });
  const release = holdUp(bench);
  outbox.onApplicationBootstrap();
  await eventually(() => expect(published).toHaveLength(1), PATIENT);
  await outbox.beforeApplicationShutdown();
  release();
  // The round ends after the shutdown. It sends no further row, and settles none, so nothing is lost.
  await eventually(async () => {
    const { rows } = (await query(`SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory'`, [])) as {
      rows: { n: number }[];
    };
    expect(rows[0]?.n).toBe(0);
  }, PATIENT);
  expect(published).toHaveLength(1);
  expect(await outbox.stats()).toMatchObject({ waiting: 2 });
});

it('a round whose lock breaks off settles what it sent, and the relay goes on', async () => {
  const bench = await open();
  const failures = heard('callFailed', bench);
  const { outbox, query, published } = bench;
  await outbox.publish(query, 's', 1);
  const release = holdUp(bench);
  outbox.onApplicationBootstrap();
  await eventually(() => expect(published).toHaveLength(1), PATIENT);
  // Nothing runs on this connection, so pg reports the end to the listeners of the client.
  await query(`SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory'`, []);
  release();
  await eventually(() => expect(failures.events).toMatchObject([{ during: 'round' }]), PATIENT);
  failures.stop();
  await eventually(async () => expect(await outbox.stats()).toMatchObject({ waiting: 0 }), PATIENT);
  await outbox.publish(query, 's', 2);
  await eventually(() => expect(published).toHaveLength(2), PATIENT);
});

it('each transaction of a round ends by itself if the machine of its relay is gone', async () => {
  const own = pgDatabase(postgres.pool);
  const limits: string[][] = [];
  const bench = await open({
    database: {
      transaction: (work) =>
        own.transaction((query) =>
          work(async (sql, params) => {
            const result = await query(sql, params);
            const { rows } = (await query('SHOW idle_in_transaction_session_timeout', [])) as { rows: object[] };
            limits.push([sql.trim().split(' ', 1)[0] as string, String(Object.values(rows[0] as object)[0])]);
            return result;
          }),
        ),
    },
  });
  await bench.outbox.publish(bench.query, 's', 1);
  bench.outbox.onApplicationBootstrap();
  await eventually(async () => expect(await columns(bench, 'seq')).toEqual([]), PATIENT);
  await bench.outbox.beforeApplicationShutdown();
  expect(limits.map(([statement]) => statement)).toEqual(expect.arrayContaining(['SELECT', 'WITH', 'DELETE']));
  expect(new Set(limits.map(([, limit]) => limit))).toEqual(new Set(['1min']));
  const { rows } = (await bench.query('SHOW idle_in_transaction_session_timeout', [])) as { rows: object[] };
  expect(Object.values(rows[0] as object)).toEqual(['0']);
});

it('a relay that lost its lock takes no mark away from a relay that has sent the row', async () => {
  const late = await open({ pollMs: 60_000 });
  const { outbox, query, registry, table } = late;
  await outbox.publish(query, 's', 1, { key: 'k' });
  const { id } = await outbox.publish(query, 's', 2, { key: 'k' });
  let fail!: (error: Error) => void;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  jest.spyOn(registry, 'run').mockImplementation(() => failed);
  outbox.onApplicationBootstrap();
  await eventually(() => expect(late.published).toHaveLength(1), PATIENT);
  await query(`SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory'`, []);
  // The next relay sends both rows, and cannot delete them.
  const own = pgDatabase(postgres.pool);
  const next = await open({
    table,
    prefix: prefixOf(late),
    pollMs: 60_000,
    database: {
      transaction: (work) =>
        own.transaction((run) =>
          work((sql, params) => (sql.startsWith('DELETE') ? Promise.reject(new Error('it died')) : run(sql, params))),
        ),
    },
  });
  const failures = heard('callFailed', late);
  next.outbox.onApplicationBootstrap();
  await eventually(
    () => expect(failures.events.map(({ error }) => String(error))).toContain('Error: it died'),
    PATIENT,
  );
  expect(next.published).toContain(id);
  fail(new NotSentError('not sent'));
  await outbox.beforeApplicationShutdown();
  failures.stop();
  expect(await columns(late, 'first_sent_at IS NULL')).toEqual([false, false]);
});

it('while the database is unavailable, the relay tries again, and then goes on', async () => {
  const bench = await open();
  const seen = await read(bench, 's');
  const failures = heard('callFailed', bench);
  await bench.query(`ALTER TABLE ${bench.table} RENAME TO ${bench.table}_gone`, []);
  bench.outbox.onApplicationBootstrap();
  await eventually(() => expect(failures.events.length).toBeGreaterThan(2), PATIENT);
  failures.stop();
  expect(new Set(failures.events.map(({ during }) => during))).toEqual(new Set(['round']));
  await bench.query(`ALTER TABLE ${bench.table}_gone RENAME TO ${bench.table}`, []);
  await bench.outbox.publish(bench.query, 's', 1);
  await eventually(() => expect(seen).toEqual([1]), PATIENT);
});

it('needs a second connection, and says so', async () => {
  const lone = pgDatabase(postgres.pool);
  let open = 0;
  const bench = await openBench({
    pool: postgres.pool,
    database: {
      transaction: async (work) => {
        // A pool of one connection.
        while (open > 0) await new Promise((resolve) => setTimeout(resolve, 5));
        open += 1;
        return lone.transaction(work).finally(() => (open -= 1));
      },
    },
  });
  benches.push(bench);
  const failures = heard('callFailed', bench);
  await bench.outbox.publish(bench.query, 's', 1);
  bench.outbox.onApplicationBootstrap();
  await eventually(() => expect(String(failures.events[0]?.error)).toContain('no second connection'), PATIENT);
  failures.stop();
  expect(bench.published).toEqual([]);
}, 60_000);
