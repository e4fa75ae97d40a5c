import { Injectable, Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import {
  deadLetter,
  DelayedTask,
  DelayedTaskModule,
  DelayedTaskService,
  retryLater,
  type DelayedTaskModuleOptions,
  type TaskContext,
  type TaskEvents,
} from 'luanest/delayed-task';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { SetupError } from '../../internal/src';
import { ClosingApps } from '../../../test/support/closing-apps';
import { CommandWatcher } from '../../../test/support/command-watcher';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { pending, type Pending } from '../../../test/support/replies';
import { eventually, sleep } from '../../../test/support/wait';
import { resolveOptions } from '../src/delayed-task.options';
import { takeTasks } from '../src/worker/worker.scripts';
import { Broadcaster, EventListeners } from '../src/queue/broadcast';
import { TaskQueue } from '../src/queue/task-queue';
import { Gate, listen, openBench, quiet, servers, takeCall, type Bench } from './support';
import { few } from '../../../test/support/few';

type TaskEvent = TaskEvents[keyof TaskEvents];
type Told = Exclude<TaskEvent, TaskEvents['missed']>;

/** Collects the events of a queue that a process gets. */
async function collect(bench: Bench, queue?: string) {
  const all: TaskEvent[] = [];
  const tasks = queue === undefined ? bench.tasks : bench.tasks.queue(queue);
  const stop = await tasks.onEvents((event) => void all.push(event));
  const told = (id?: string): Told[] =>
    all.filter((event): event is Told => event.type !== 'missed' && (id === undefined || event.id === id));
  return {
    all,
    told,
    stop,
    /** Statuses and progress of a task, in the order in which they came. */
    of: (id: string): string[] =>
      told(id).map((event) => (event.type === 'attemptSettled' ? event.status : String(event.progress))),
    missed: (): (number | undefined)[] => all.flatMap((event) => (event.type === 'missed' ? [event.count] : [])),
  };
}

const channelOf = ({ registry }: Bench, queue = 'default'): string =>
  registry.keySpace('delayed-task').tag(queue).key('events');

describe.each(few(servers))('the events of all processes on %s', (_, client, partitions) => {
  const benches: Bench[] = [];
  async function open(options: DelayedTaskModuleOptions = {}, prefix?: string): Promise<Bench> {
    const all = { partitions, attempts: 2, backoff: { delayMs: 1 }, broadcastEvents: true, ...options };
    const bench = await openBench(client(), all, prefix === undefined ? {} : { prefix });
    benches.push(bench);
    return bench;
  }
  afterEach(async () => {
    jest.restoreAllMocks();
    await Promise.all(benches.splice(0).map((bench) => bench.close()));
  });

  it('reach a process that runs no tasks, and the one that runs them, for each way in which an attempt ends', async () => {
    const worker = await open();
    const web = await open({ work: false, broadcastEvents: false }, worker.prefix);
    const [here, there] = [await collect(worker), await collect(web)];
    const gate = new Gate();
    const began: string[] = [];
    const { tasks } = worker;
    const secret = { card: '4111' };
    tasks.handle('good', async (payload, task) => {
      await task.reportProgress({ rows: 7, note: 'ä "b"\n\u2028' });
      return payload;
    });
    tasks.handle('broken', () => {
      throw new RangeError('no\nsuch row');
    });
    tasks.handle('asks', (__, task) => (task.attempt === 1 ? retryLater({ delayMs: 1 }) : undefined));
    tasks.handle('postpones', () => retryLater({ delayMs: 3_600_000, countsAsAttempt: false }));
    tasks.handle('gives up', () => deadLetter('the card has expired'));
    tasks.handle('waits', async (__, { id }) => {
      began.push(id);
      await gate.pass();
    });
    worker.work();
    const odd = 'ä:{"}\u{1F4A9} \\ ' + "it's";
    await tasks.schedule('good', secret, { id: odd, group: odd, keepResultMs: 60_000 });
    for (const name of ['broken', 'asks', 'postpones', 'gives up', 'waits', 'nobody']) {
      await tasks.schedule(name, secret, { id: `the ${name}` });
    }
    await eventually(() => expect(began).toEqual(['the waits']));
    await tasks.cancel('the waits', { evenRunning: true });
    gate.open();
    for (const { of, told } of [here, there]) {
      await eventually(() => expect(of('the broken')).toEqual(['retried', 'dead']));
      await eventually(() => expect(of('the asks')).toEqual(['retried', 'done']));
      await eventually(() => expect(of('the postpones')).toEqual(['retried']));
      await eventually(() => expect(of('the gives up')).toEqual(['dead']));
      await eventually(() => expect(of('the waits')).toEqual(['lost']));
      await eventually(() => expect(of('the nobody')[0]).toBe('unknown'));
      await eventually(() => expect(told(odd)).toHaveLength(2));
      const about = { namespace: 'default', id: odd, name: 'good', group: odd, attempt: 1, attempts: 2 };
      const atMs = expect.any(Number) as number;
      expect(told(odd)).toEqual([
        { ...about, type: 'progressReported', progress: { rows: 7, note: 'ä "b"\n\u2028' }, atMs },
        { ...about, type: 'attemptSettled', status: 'done', error: '', atMs },
      ]);
      const [retried, dead] = told('the broken');
      expect(retried).toMatchObject({ attempt: 1, attempts: 2, group: undefined });
      expect(dead).toMatchObject({ attempt: 2, error: (await web.tasks.get('the broken'))?.error });
      expect(dead).toMatchObject({ error: expect.stringContaining('RangeError: no') as string });
      expect(told('the gives up')).toMatchObject([{ error: 'the card has expired' }]);
      expect(JSON.stringify(told())).not.toContain('4111');
    }
    expect([here.missed(), there.missed()]).toEqual([[], []]);
  });

  it('report a task whose worker died in its last attempt, with its group', async () => {
    const worker = await open();
    const { of, told } = await collect(await open({ work: false }, worker.prefix));
    worker.tasks.handle('t', () => undefined);
    await worker.tasks.schedule('t', null, { id: 'a', group: 'of a', attempts: 1 });
    const call = takeCall(worker.partitionOf('a'), 'died', { token: 'x', limit: 5, leaseMs: 1 });
    await eventually(async () => expect((await worker.registry.run(takeTasks, call)).tasks).toHaveLength(1));
    worker.work();
    await eventually(() => expect(of('a')).toEqual(['dead']));
    const error = expect.stringContaining('lease ended') as string;
    expect(told('a')).toMatchObject([{ group: 'of a', attempt: 1, attempts: 1, error }]);
  });

  it('come in their order, each once, also if they are more than one message holds', async () => {
    const worker = await open();
    const { of } = await collect(await open({ work: false }, worker.prefix));
    worker.tasks.handle('t', async (__, task) => {
      for (let i = 0; i < 250; i++) await task.reportProgress(i);
    });
    worker.work();
    await worker.tasks.schedule('t', null, { id: 'a' });
    const expected = [...Array.from({ length: 250 }, (__, i) => String(i)), 'done'];
    await eventually(() => expect(of('a').at(-1)).toBe('done'));
    expect(of('a')).toEqual(expected);
  });

  it('are those of one queue; a queue has the setting of the module, or its own', async () => {
    const worker = await open({ queues: { same: {}, silent: { broadcastEvents: false } } });
    const names = ['default', 'same', 'silent'];
    const all = await Promise.all(names.map((name) => collect(worker, name)));
    for (const name of names) worker.tasks.queue(name).handle('t', () => undefined);
    worker.work();
    for (const queue of names) await worker.tasks.schedule('t', null, { id: `of ${queue}`, queue });
    await eventually(async () => expect((await worker.tasks.queue('silent').stats()).waiting).toBe(0));
    await eventually(() => expect([all[0]?.all, all[1]?.all]).toMatchObject([[{}], [{}]]));
    // What waits is sent before a close ends.
    await worker.close();
    const told = all.map((one) => one.told().map(({ namespace, id }) => `${namespace}: ${id}`));
    expect(told).toEqual([['default: of default'], ['same: of same'], []]);
  });

  it('ignore what others send to the channel', async () => {
    const worker = await open();
    const web = await open({ work: false }, worker.prefix);
    const { all, of } = await collect(web);
    const event = {
      type: 'attemptSettled',
      status: 'done',
      error: '',
      id: 'x',
      name: 't',
      attempt: 1,
      attempts: 1,
      atMs: 1,
    };
    const message = { from: 'a', number: 1, missed: 0, events: [event] };
    const wrong: unknown[] = [
      ...[null, 7, 'text', [], {}, [message], { ...message, events: {} }, { ...message, from: 5 }],
      ...[
        { ...message, number: '9' },
        { ...message, missed: 'all' },
        { ...message, number: null },
      ],
      ...[null, [], 'x', { ...event, id: 5 }, { ...event, status: 'gone' }, { ...event, status: ['done'] }].map(
        (one, i) => ({ ...message, number: i + 2, events: [one] }),
      ),
      ...[
        { ...event, type: 'later' },
        { ...event, group: 5 },
        { ...event, error: {} },
        { ...event, atMs: '1' },
      ].map((one, i) => ({ ...message, number: i + 20, events: [one] })),
      { ...message, number: 30, events: [{ ...event, type: 'progressReported' }] },
    ];
    const texts = ['', 'due', '{', '\u0000', '"'.repeat(10_000), ...wrong.map((one) => JSON.stringify(one))];
    for (const text of texts) await worker.raw.spublish(channelOf(worker), text);
    worker.tasks.handle('t', () => undefined);
    worker.work();
    await worker.tasks.schedule('t', null, { id: 'a' });
    await eventually(() => expect(of('a')).toEqual(['done']));
    expect(all).toHaveLength(1);
    // The same text is an event if nothing is wrong with it, and once.
    for (const number of [40, 40, 39, 41]) {
      await worker.raw.spublish(
        channelOf(worker),
        JSON.stringify({ ...message, number, missed: number === 41 ? 3 : 0 }),
      );
    }
    await eventually(() => expect(all).toHaveLength(4));
    expect(all.slice(2)).toEqual([
      { type: 'missed', namespace: 'default', count: 3 },
      { ...event, namespace: 'default', group: undefined },
    ]);
  });

  it('go on after a listener has thrown, which is logged', async () => {
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const worker = await open();
    const web = await open({ work: false }, worker.prefix);
    const got: string[] = [];
    const fails = (how: () => unknown) =>
      web.tasks.onEvents((event) => {
        if (event.type === 'attemptSettled') got.push(event.id);
        return how();
      });
    await fails(() => {
      throw new TypeError('a secret');
    });
    await fails(() => Promise.reject(new TypeError('a secret')));
    const { of } = await collect(web);
    worker.tasks.handle('t', () => undefined);
    worker.work();
    for (const id of ['a', 'b']) {
      await worker.tasks.schedule('t', null, { id });
      await eventually(() => expect(got.filter((one) => one === id)).toHaveLength(2));
      await eventually(() => expect(of(id)).toEqual(['done']));
    }
    await eventually(() => expect(errors).toHaveBeenCalled());
    expect(errors.mock.calls.map(([line]) => String(line))).toEqual([
      'Queue default: a listener of onEvents threw an error: TypeError. It still gets the next events. Handle errors in the listener.',
    ]);
  });

  it('end with stop() and with the app, and the last ones are sent before', async () => {
    const worker = await open({ drainMs: 60_000 });
    const web = await open({ work: false }, worker.prefix);
    const [stays, goes] = [await collect(web), await collect(web)];
    const gate = new Gate();
    worker.tasks.handle('t', () => gate.pass());
    worker.work();
    await worker.tasks.schedule('t', null, { id: 'a' });
    await eventually(() => expect(gate.entered).toBe(1));
    goes.stop();
    goes.stop();
    const closed = worker.close();
    gate.open();
    await closed;
    await eventually(() => expect(stays.of('a')).toEqual(['done']));
    expect(goes.all).toEqual([]);
    await expect(worker.tasks.onEvents(() => undefined)).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(web.tasks.onEvents('log' as never)).rejects.toThrow('listener is "log". Expected a function.');
  });

  it('report what a shutdown hands back', async () => {
    const worker = await open({ drainMs: 0, abortGraceMs: 0 });
    const { of } = await collect(await open({ work: false }, worker.prefix));
    const gate = new Gate();
    worker.tasks.handle('t', () => gate.pass());
    worker.work();
    await worker.tasks.schedule('t', null, { id: 'a' });
    await eventually(() => expect(gate.entered).toBe(1));
    await worker.close();
    gate.open();
    await eventually(() => expect(of('a')).toEqual(['released']));
  });
});

describe('events on a server of their own', () => {
  let server: RedisServer;
  let admin: Redis;
  let benches: Bench[] = [];
  let prefix = 0;
  beforeAll(async () => {
    server = await startRedis();
    admin = quiet(new Redis(server.port));
  });
  beforeEach(() => (prefix += 1));
  afterEach(async () => {
    jest.restoreAllMocks();
    await Promise.all(benches.map((bench) => bench.close()));
    benches = [];
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });
  async function open(options: DelayedTaskModuleOptions, username?: string): Promise<Bench> {
    const client = quiet(
      new Redis({ port: server.port, ...(username !== undefined && { username, password: 'pass' }) }),
    );
    const bench = await openBench(client, { backoff: { delayMs: 1 }, ...options }, { prefix: `own${prefix}` });
    benches.push(bench);
    return bench;
  }

  it('take a call for many tasks if they are on, and none if they are off', async () => {
    const watcher = await CommandWatcher.open(server.port);
    const seen: Record<string, number> = {};
    for (const broadcastEvents of [false, true]) {
      const worker = await open({ broadcastEvents });
      const gate = new Gate();
      const contexts: TaskContext[] = [];
      worker.tasks.handle('t', async (__, task) => {
        contexts.push(task);
        await gate.pass();
        await task.reportProgress(1);
      });
      worker.work();
      const settled = listen('attemptSettled');
      const told = broadcastEvents ? await collect(worker) : undefined;
      await worker.tasks.scheduleMany(Array.from({ length: 50 }, () => ({ name: 't' })));
      // Not toHaveLength: it prints all contexts each time, which blocks the process for seconds.
      await eventually(() => expect(contexts.length).toBe(50));
      watcher.clear();
      gate.open();
      await eventually(() => expect(settled.events).toHaveLength(50));
      if (told) await eventually(() => expect(told.all).toHaveLength(100));
      settled.stop();
      await worker.close();
      const channel = channelOf(worker);
      await admin.echo(`end ${String(broadcastEvents)}`);
      await eventually(() =>
        expect(watcher.commands.some(({ args }) => args[1] === `end ${String(broadcastEvents)}`)).toBe(true),
      );
      const named = watcher.commands.filter(({ args }) => args.includes(channel));
      const published = named.filter(({ from, args }) => from === 'lua' && /^spublish$/i.test(args[0] as string));
      seen[String(broadcastEvents)] = published.length;
      if (!broadcastEvents) expect(named).toEqual([]);
      prefix += 1;
    }
    watcher.close();
    expect(seen.false).toBe(0);
    expect(seen.true).toBeGreaterThan(0);
    // 100 events. On a quick machine it is one call, or two.
    expect(seen.true).toBeLessThan(50);
  });

  it('may be missing after the connection of a listener was lost, and are there again', async () => {
    const worker = await open({ broadcastEvents: true });
    const { of, missed } = await collect(await open({ work: false }));
    worker.tasks.handle('t', () => undefined);
    worker.work();
    await worker.tasks.schedule('t', null, { id: 'before' });
    await eventually(() => expect(of('before')).toEqual(['done']));
    expect(missed()).toEqual([]);
    await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await eventually(() => expect(missed()).toContain(undefined));
    // It listens again: from here on, nothing is missed.
    await worker.tasks.schedule('t', null, { id: 'after' });
    await eventually(() => expect(of('after')).toEqual(['done']));
  });

  it('that Redis refuses are counted, and disturb no task', async () => {
    const warnings = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    await admin.call('ACL', 'SETUSER', 'worker', 'on', '>pass', '+@all', '~*', '&*');
    const worker = await open({ broadcastEvents: true }, 'worker');
    const web = await open({ work: false });
    const { all, of, missed } = await collect(web);
    const failures = listen('callFailed');
    worker.tasks.handle('t', () => undefined);
    worker.work();
    await admin.call('ACL', 'SETUSER', 'worker', '-spublish');
    await web.tasks.schedule('t', null, { id: 'a', keepResultMs: 60_000 });
    expect(await web.tasks.waitFor('a')).toMatchObject({ state: 'done' });
    await eventually(() => expect(failures.events).toContainEqual(expect.objectContaining({ during: 'broadcast' })));
    failures.stop();
    await admin.call('ACL', 'SETUSER', 'worker', '+spublish');
    await eventually(() => expect(missed()).toEqual([1]));
    await web.tasks.schedule('t', null, { id: 'b' });
    await eventually(() => expect(of('b')).toEqual(['done']));
    expect(all).toHaveLength(2);
    expect(warnings.mock.calls.map(([line]) => String(line)).filter((line) => line.includes('events'))).toEqual([
      expect.stringMatching(/^Queue default: A call to Redis failed, so events of tasks did not reach .*SPUBLISH/),
    ]);
  });

  it('need permission for SPUBLISH and the channel: the boot and onEvents say so', async () => {
    await admin.call('ACL', 'SETUSER', 'mute', 'on', '>pass', '+@all', '~*', 'resetchannels');
    const refused = open({ broadcastEvents: true }, 'mute');
    await expect(refused).rejects.toThrow(SetupError);
    await expect(refused).rejects.toThrow(
      /^DelayedTaskModule: broadcastEvents of queue default does not work: .*the Redis user permission for it and for the channels of this lib/,
    );
    const deaf = await open({ work: false }, 'mute');
    await expect(deaf.tasks.onEvents(() => undefined)).rejects.toMatchObject({
      code: 'NOT_SENT',
      message: expect.stringMatching(/^ScriptRegistry could not subscribe to the channel: .*permissions/) as string,
    });
  });

  it('leave no subscription after a stop, and after a close', async () => {
    const bench = await open({ work: false });
    const listeners = async (): Promise<unknown> =>
      ((await admin.call('PUBSUB', 'SHARDNUMSUB', channelOf(bench))) as unknown[])[1];
    const { stop } = await collect(bench);
    await collect(bench);
    expect(await listeners()).toBe(1);
    stop();
    expect(await listeners()).toBe(1);
    await bench.close();
    await eventually(async () => expect(await listeners()).toBe(0));
    const other = await open({ work: false });
    (await collect(other)).stop();
    await eventually(async () => expect(await listeners()).toBe(0));
  });
});

it('of an app end with app.close(): nothing is sent after it, and no connection is left', async () => {
  const apps = await ClosingApps.open();
  const { watcher, server } = apps;
  @Injectable()
  class Handlers {
    @DelayedTask('t')
    run(): void {}
  }
  const imports = [DelayedTaskModule.forRoot({ broadcastEvents: true })];
  const app = await apps.start('closing', { imports, providers: [Handlers] });
  const tasks = app.get(DelayedTaskService);
  const got: string[] = [];
  await tasks.onEvents((event) => event.type === 'attemptSettled' && got.push(event.id));
  await tasks.schedule('t', null, { id: 'a' });
  await eventually(() => expect(got).toEqual(['a']));
  await tasks.schedule('t', null, { id: 'b' });
  await app.close();
  const admin = quiet(new Redis(server.port));
  // Those of the watcher and the admin.
  await eventually(async () =>
    expect(
      String(await admin.client('LIST'))
        .trim()
        .split('\n'),
    ).toHaveLength(2),
  );
  const sent = watcher.sentBesides('closing').length;
  await sleep(200);
  expect(watcher.sentBesides('closing')).toHaveLength(sent);
  expect(apps.unhandled).toEqual([]);
  admin.disconnect();
  await apps.close();
});

describe('the sender of events', () => {
  const time = new ManualTime();
  const task = { id: 'a', name: 't', group: undefined, attempt: 1, attempts: 1 };

  function open() {
    const registry = new FakeRegistry();
    const failed: unknown[] = [];
    const queue = new TaskQueue(registry.asRegistry, resolveOptions({}));
    const broadcaster = new Broadcaster(queue, (error) => failed.push(error));
    /** The messages of a call: the number of events that were missed, and the ids of the events. */
    const sent = (index = -1) =>
      (registry.calls.at(index)?.args.messages as string[]).map((text) => {
        const { missed, events } = JSON.parse(text) as { missed: number; events: { id: string }[] };
        return { missed, ids: events.map(({ id }) => id), bytes: Buffer.byteLength(text) };
      });
    const tell = (count: number, from = 0): void => {
      for (let i = from; i < from + count; i++) broadcaster.settled({ ...task, id: String(i) }, 'done', '');
    };
    return { registry, broadcaster, failed, sent, tell };
  }

  it('sends what 50 ms bring in one call, in messages of 100 events', async () => {
    const { registry, sent, tell } = open();
    tell(150);
    await time.pass(49);
    tell(100, 150);
    expect(registry.calls).toHaveLength(0);
    await time.pass(1);
    expect(sent().map(({ ids }) => ids.length)).toEqual([100, 100, 50]);
    expect(sent().flatMap(({ ids }) => ids)).toEqual(Array.from({ length: 250 }, (_, i) => String(i)));
    // The next call begins 50 ms after the reply to this one.
    tell(1, 250);
    await time.pass(500);
    expect(registry.calls).toHaveLength(1);
    registry.last.reply.resolve(1);
    await time.pass(49);
    expect(registry.calls).toHaveLength(1);
    await time.pass(1);
    expect(sent()).toMatchObject([{ missed: 0, ids: ['250'] }]);
    registry.last.reply.resolve(1);
    await time.pass(10_000);
    expect([registry.calls.length, time.running]).toEqual([2, []]);
  });

  it('sends at most 64 kB in a message, and 20 messages in a call', async () => {
    const { registry, broadcaster, sent, tell } = open();
    for (let i = 0; i < 40; i++) broadcaster.progressed({ ...task, id: `p${i}` }, JSON.stringify('ä'.repeat(2_000)));
    tell(2_500);
    await time.pass(50);
    expect(Math.max(...sent().map(({ bytes }) => bytes))).toBeLessThanOrEqual(65_536);
    expect(
      sent()
        .slice(0, 3)
        .map(({ ids }) => ids.length),
    ).toEqual([15, 15, 100]);
    expect(sent()).toHaveLength(20);
    registry.last.reply.resolve(1);
    await time.pass(50);
    expect([0, 1].flatMap((call) => sent(call).flatMap(({ ids }) => ids))).toHaveLength(2_540);
  });

  it('counts what it drops because 10,000 events wait, and reports it first', async () => {
    const { registry, sent, tell } = open();
    tell(10_005);
    await time.pass(50);
    expect(sent().map(({ missed }) => missed)).toEqual([5, ...Array.from({ length: 19 }, () => 0)]);
    // While that call is in flight, 2,000 fit.
    tell(2_007, 10_005);
    registry.last.reply.resolve(1);
    await time.pass(50);
    expect(sent()[0]).toMatchObject({ missed: 7, ids: expect.arrayContaining(['2000', '2099']) as string[] });
  });

  it('counts what a failed call has dropped, and reports it a second later, with or without a further event', async () => {
    const { registry, failed, sent, tell } = open();
    tell(3);
    await time.pass(50);
    const lost = new Error('no reply');
    registry.last.reply.reject(lost);
    await time.pass(999);
    expect([failed, registry.calls.length]).toEqual([[lost], 1]);
    await time.pass(1);
    expect(sent()).toMatchObject([{ missed: 3, ids: [] }]);
    registry.last.reply.reject(lost);
    await turn();
    tell(1, 3);
    await time.pass(1_000);
    expect(sent()).toMatchObject([{ missed: 3, ids: ['3'] }]);
    registry.last.reply.resolve(1);
    await time.pass(10_000);
    expect(registry.calls).toHaveLength(3);
  });

  it('sends the rest at once at the close, for at most a second, and nothing after that', async () => {
    const { registry, broadcaster, sent, tell } = open();
    tell(3_000);
    const closed = broadcaster.close();
    tell(1, 3_000);
    await turn();
    registry.last.reply.resolve(1);
    await turn();
    expect([0, 1].map((call) => sent(call).flatMap(({ ids }) => ids).length)).toEqual([2_000, 1_000]);
    await time.pass(1_000);
    await closed;
    tell(1, 3_001);
    registry.last.reply.resolve(1);
    await time.pass(10_000);
    expect([registry.calls.length, time.running]).toEqual([2, []]);
  });
});

describe('a listener', () => {
  const time = new ManualTime();

  /** Listens to a registry whose replies the test gives: the call `heard` of the listener, and the reply to each `listen`. */
  async function open() {
    const registry = new FakeRegistry();
    const replies: Pending<() => void>[] = [];
    let heard: (text?: string) => void = () => undefined;
    registry.listen = (_, message) => {
      heard = message;
      replies.push(pending());
      return (replies.at(-1) as Pending<() => void>).promise;
    };
    const [got, failed]: [TaskEvent[], unknown[]] = [[], []];
    const queue = new TaskQueue(registry.asRegistry, resolveOptions({}));
    const listeners = new EventListeners(
      queue,
      (error) => failed.push(error),
      () => undefined,
    );
    const adding = listeners.add((event) => got.push(event));
    const ended: number[] = [];
    const accept = async (): Promise<void> => {
      const count = replies.length;
      replies.at(-1)?.resolve(() => ended.push(count));
      await turn();
    };
    await accept();
    return { listeners, stop: await adding, replies, accept, heard: () => heard(), got, failed, ended };
  }

  it('listens again until it can, and then learns that events may be missing, once', async () => {
    const { replies, accept, heard, got, failed } = await open();
    heard();
    heard();
    expect(replies).toHaveLength(2);
    const down = new Error('down');
    replies.at(-1)?.reject(down);
    await time.pass(499);
    expect([failed, replies.length, got]).toEqual([[down], 2, []]);
    await time.pass(501);
    expect(replies).toHaveLength(3);
    // The new subscription ends before it is known.
    heard();
    await accept();
    expect([replies.length, got]).toEqual([4, []]);
    await accept();
    expect(got).toEqual([{ type: 'missed', namespace: 'default', count: undefined }]);
    heard();
    expect(replies).toHaveLength(5);
  });

  it.each(['stop', 'close'])(
    'that ends (%s) while it listens again keeps no subscription, and gets nothing',
    async (how) => {
      const { listeners, stop, accept, heard, got, ended } = await open();
      heard();
      if (how === 'stop') stop();
      else listeners.close();
      await accept();
      expect(ended).toContain(2);
      heard();
      await time.pass(5_000);
      expect([got, time.running]).toEqual([[], []]);
    },
  );
});
