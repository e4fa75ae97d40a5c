import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { openBench as openTasks, quiet, type Bench as Tasks } from '../../delayed-task/test/support';
import { openBench as openStreams, type Bench as Streams } from '../../stream-consumer/test/support';
import type { Section } from '../src/console.types';
import { queuesSection } from '../src/sections/queues';
import { streamsSection } from '../src/sections/streams';
import { allRows, sectionOf } from './section-support';

Logger.overrideLogger(false);

/** A first page may cost this CPU time of Node and Redis, and Redis must not be busy with one command for longer than the second one, ms. */
const [PAGE_MS, BUSY_MS] = [100, 5];
/** A busy machine makes a command slow. So the best of several tries counts. */
const TRIES = 10;
const HOUR_MS = 3_600_000;

/** Returns the CPU time of this process and of Redis so far, ms. */
async function cpuMs(raw: Redis): Promise<number> {
  const seconds = (await raw.info('cpu')).matchAll(/^used_cpu_(?:user|sys):(\S+)/gm);
  const { user, system } = process.cpuUsage();
  return [...seconds].reduce((sum, [, one]) => sum + Number(one) * 1_000, (user + system) / 1_000);
}

/** The smallest cost of a call, and the fewest commands that were slow in a try. */
async function best(raw: Redis, call: () => Promise<unknown>): Promise<{ ms: number; slow: number }> {
  const found = { ms: Infinity, slow: Infinity };
  for (let i = 0; i < TRIES && (found.ms > PAGE_MS / 2 || found.slow > 0); i++) {
    await raw.config('SET', 'slowlog-log-slower-than', BUSY_MS * 1_000);
    await raw.slowlog('RESET');
    const before = await cpuMs(raw);
    await call();
    found.ms = Math.min(found.ms, (await cpuMs(raw)) - before);
    found.slow = Math.min(found.slow, ((await raw.slowlog('GET')) as unknown[]).length);
  }
  return found;
}

async function expectQuick(raw: Redis, calls: Readonly<Record<string, () => Promise<unknown>>>): Promise<void> {
  for (const [name, call] of Object.entries(calls)) {
    const { ms, slow } = await best(raw, call);
    expect({ name, quick: ms < PAGE_MS, slow }).toEqual({ name, quick: true, slow: 0 });
  }
}

let server: RedisServer;
beforeAll(async () => (server = await startRedis()));
afterAll(() => server.stop());

describe('1,000,000 waiting tasks', () => {
  const TASKS = 1_000_000;
  let bench: Tasks;
  let section: Section;
  beforeAll(async () => {
    bench = await openTasks(quiet(new Redis(server.port)), {}, { prefix: 'tasks', deadlineMs: 60_000 });
    section = sectionOf(queuesSection, { DelayedTaskService: bench.tasks });
    // One task of the lib shows how a record looks. The others are copies of it, which a script adds much faster.
    const { runAtMs } = await bench.tasks.schedule('mail', { card: 4711 }, { id: 'first', delayMs: HOUR_MS });
    const { due, tasks } = bench.partitionOf('first');
    const load = `local record = redis.call('HGET', KEYS[2], 'first')
      for i = ARGV[1], ARGV[2] do
        redis.call('HSET', KEYS[2], 'task-' .. i, record)
        redis.call('ZADD', KEYS[1], ARGV[3] + i, 'task-' .. i)
      end`;
    for (let from = 1; from < TASKS; from += 50_000) {
      await bench.raw.eval(load, 2, due, tasks, from, Math.min(TASKS - 1, from + 49_999), runAtMs);
    }
  }, 180_000);
  afterAll(() => bench.close());

  it('have first pages, stories and searches at once, and keep Redis free', async () => {
    expect(await bench.tasks.stats()).toMatchObject({ waiting: TASKS });
    const list = (name: string, filter?: string) => () =>
      section.list(['queues', name], { limit: 50, ...(filter !== undefined && { filter }) });
    expect((await list('tasks')()).rows).toHaveLength(50);
    await expectQuick(bench.raw, {
      ...{ summary: () => section.summary(), queues: list('queues'), tasks: list('tasks'), dead: list('dead') },
      ...{ leases: list('leases'), schedules: list('schedules'), none: list('tasks', 'name:nothing has this name') },
      show: () => section.show(['queues', 'tasks', 'default', 'task-500000']),
      find: () => section.find('task-777777'),
      preview: () => section.preview('cancel', { list: ['queues', 'tasks'] }, {}),
    });
  });

  it('have the same page after a cursor', async () => {
    const first = await section.list(['queues', 'tasks'], { limit: 100 });
    const page = { limit: 100, cursor: first.nextCursor as string };
    expect((await section.list(['queues', 'tasks'], page)).rows[0]?.address?.at(-1)).toBe('task-100');
    await expectQuick(bench.raw, { next: () => section.list(['queues', 'tasks'], page) });
  });
});

describe('1,000 streams', () => {
  const STREAMS = 1_000;
  let bench: Streams;
  let section: Section;
  beforeAll(async () => {
    bench = await openStreams(quiet(new Redis(server.port)), {}, { prefix: 'streams', deadlineMs: 60_000 });
    section = sectionOf(streamsSection, { StreamConsumerService: bench.streams });
    const names = Array.from({ length: STREAMS }, (_, i) => `stream-${i}`);
    await Promise.all(names.map((name) => bench.streams.publish(name, 1)));
    for (let i = 0; i < STREAMS; i += 2) bench.streams.forgetStream(`stream-${i}`);
    const load = `for i = 0, ${STREAMS - 1} do
      redis.call('HSET', 'streams:stream-consumer:{stream-' .. i .. '}:config', 'group:mail', '1')
    end`;
    await bench.raw.eval(load, 0);
  }, 120_000);
  afterAll(() => bench.close());

  it('have first pages at once, and keep Redis free', async () => {
    const list = (name: string) => () => section.list(['streams', name], { limit: 50 });
    expect((await list('streams')()).rows).toHaveLength(50);
    await expectQuick(bench.raw, {
      ...{ summary: () => section.summary(), streams: list('streams'), groups: list('groups') },
      show: () => section.show(['streams', 'groups', 'stream-7', 'mail']),
    });
  });

  it('are all on the pages, once each', async () => {
    const rows = await allRows(section, ['streams', 'streams'], 200);
    expect(rows.map(({ stream }) => stream).sort()).toEqual(
      Array.from({ length: STREAMS }, (_, i) => `stream-${i}`).sort(),
    );
  });
});
