import { ConsoleLogger, Injectable, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DelayedTask, DelayedTaskModule, DelayedTaskService, defineTask, type TaskContext } from 'luanest/delayed-task';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { Gate } from '../../../test/support/gate';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { resolveOptions } from '../src/delayed-task.options';
import { openBench, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

const HOUR = 3_600_000;
const pdf = defineTask<{ page: number }>({ name: 'pdf', queue: 'slow', attempts: 1 });

describe.each(few(servers))('queues on %s', (_, client, partitions) => {
  const benches: Bench[] = [];
  async function open(options = {}, prefix?: string): Promise<Bench> {
    const queues = { slow: { concurrency: 2, partitions }, quiet: { work: false } };
    const bench = await openBench(client(), { partitions, queues, ...options }, prefix ? { prefix } : {});
    benches.push(bench);
    return bench;
  }
  afterEach(async () => {
    for (const bench of benches.splice(0)) await bench.close();
  });

  it('slow tasks of one do not hold up those of another', async () => {
    const bench = await open({ concurrency: 2 });
    const { tasks } = bench;
    const gate = new Gate();
    let running = 0;
    let most = 0;
    tasks.handle(pdf, async () => {
      most = Math.max(most, (running += 1));
      await gate.pass();
      running -= 1;
    });
    const sent: unknown[] = [];
    tasks.handle('otp', (payload) => void sent.push(payload));
    bench.work();
    await tasks.scheduleMany(Array.from({ length: 20 }, (__, page) => ({ task: pdf, payload: { page } })));
    await eventually(() => expect(running).toBe(2));
    await tasks.schedule('otp', 1);
    await eventually(() => expect(sent).toEqual([1]));
    expect(await tasks.queue('slow').stats()).toMatchObject({ running: expect.any(Number), dead: 0 });
    expect((await tasks.queue('slow').stats()).waiting).toBeGreaterThan(0);
    expect(await tasks.stats()).toMatchObject({ waiting: 0, running: 0 });
    await eventually(async () => {
      gate.open();
      expect(await tasks.queue('slow').stats()).toMatchObject({ waiting: 0, running: 0 });
    });
    expect(most).toBe(2);
  });

  it('each has its own ids, dead letters and handlers', async () => {
    const bench = await open({ attempts: 1 });
    const { tasks } = bench;
    const slow = tasks.queue('slow');
    const seen: string[] = [];
    tasks.handle('same', () => void seen.push('first'));
    slow.handle('same', () => void seen.push('slow'));
    slow.handle('broken', () => {
      throw new Error('no');
    });
    expect(await tasks.schedule('same', null, { id: 'a', delayMs: HOUR })).toMatchObject({ status: 'scheduled' });
    expect(await slow.schedule('same', null, { id: 'a', delayMs: HOUR })).toMatchObject({ status: 'scheduled' });
    expect(await tasks.schedule('same', null, { id: 'a', queue: 'slow' })).toMatchObject({ status: 'kept' });
    expect(await tasks.cancel('a')).toBe('cancelled');
    expect(await tasks.get('a')).toBeUndefined();
    expect(await slow.get('a')).toMatchObject({ state: 'waiting', name: 'same' });
    await slow.reschedule('a', {});
    await slow.schedule('broken', null, { id: 'b' });
    bench.work();
    await eventually(() => expect(seen).toEqual(['slow']));
    await eventually(async () => expect((await slow.deadLetters()).items).toMatchObject([{ id: 'b', name: 'broken' }]));
    expect((await tasks.deadLetters()).items).toEqual([]);
    expect(await slow.dropAll()).toBe(1);
  });

  it('a definition goes to its queue in every call', async () => {
    const { tasks } = await open({ work: false });
    await tasks.schedule(pdf, { page: 1 }, { id: 'p', delayMs: HOUR });
    expect(await tasks.queue('slow').get('p')).toMatchObject({ name: 'pdf', payload: { page: 1 } });
    expect(await tasks.get('p', pdf)).toMatchObject({ payload: { page: 1 } });
    expect(await tasks.get('p')).toBeUndefined();
    expect(tasks.queue('default')).toBe(tasks);
  });

  it('a queue with work: false is filled here, and worked elsewhere', async () => {
    const here = await open();
    const there = await openBench(client(), { partitions, queues: { quiet: {} } }, { prefix: here.prefix });
    benches.push(there);
    const ran: string[] = [];
    here.tasks.handle(defineTask({ name: 't', queue: 'quiet' }), () => void ran.push('here'));
    there.tasks.handle(defineTask({ name: 't', queue: 'quiet' }), () => void ran.push('there'));
    here.work();
    await here.tasks.schedule('t', null, { queue: 'quiet' });
    there.work();
    await eventually(() => expect(ran).toEqual(['there']));
  });

  it('a close drains all of them at the same time', async () => {
    const bench = await open({ drainMs: 30_000 });
    const { tasks } = bench;
    const gate = new Gate();
    const ended: string[] = [];
    for (const queue of ['default', 'slow']) {
      tasks.queue(queue).handle('t', async () => {
        await gate.pass();
        ended.push(queue);
      });
      await tasks.schedule('t', null, { queue });
    }
    bench.work();
    await eventually(() => expect(gate.entered).toBe(2));
    const closing = bench.close();
    gate.open();
    await closing;
    expect(ended.sort()).toEqual(['default', 'slow']);
  });

  it('a queue with another number of partitions is refused at boot', async () => {
    const { prefix } = await open();
    const queues = { slow: { partitions: partitions + 1 } };
    await expect(open({ queues }, prefix)).rejects.toThrow(
      `partitions is ${partitions + 1}, but queue slow was created with ${partitions}`,
    );
  });

  it.each<[string, (bench: Bench) => unknown, string]>([
    [
      'an unknown queue',
      ({ tasks }) => tasks.schedule('t', null, { queue: 'slo' }),
      'DelayedTaskModule has no queue "slo"',
    ],
    [
      'an unknown queue to look at',
      ({ tasks }) => tasks.queue('slo'),
      'Its queues: default, slow, quiet. Add the queue',
    ],
    [
      'a definition of another queue',
      ({ tasks }) => tasks.queue('quiet').schedule(pdf, { page: 1 }),
      'The task belongs to queue "slow", but this object is queue "quiet". Call DelayedTaskService.queue("slow").',
    ],
    [
      'two queues for one task',
      ({ tasks }) => tasks.schedule(pdf, { page: 1 }, { queue: 'quiet' }),
      'The option queue is "quiet", but the definition of the task has the queue "slow"',
    ],
    [
      'two queues in one call',
      ({ tasks }) => tasks.scheduleMany([{ name: 'a' }, { task: pdf, payload: { page: 1 } }]),
      'The tasks belong to several queues, "default" and "slow", so none was scheduled.',
    ],
  ])('refuse %s, and nothing is written', async (__, call, message) => {
    const bench = await open();
    await expect(Promise.resolve().then(() => call(bench))).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining(message) as string,
    });
    for (const queue of ['default', 'slow', 'quiet']) {
      expect(await bench.tasks.queue(queue).stats()).toMatchObject({ waiting: 0, dead: 0 });
    }
  });
});

describe('options of queues', () => {
  it.each<[object, string]>([
    [{ queues: [] }, 'queues is an array'],
    [{ queues: { 'a b': {} } }, 'a name in queues is "a b"'],
    [{ queues: { default: {} } }, 'The option queues has a queue "default", but this is the name of the first queue'],
    [{ queues: { a: { leaseMs: 1 } } }, 'queue a: There is no option "leaseMs"'],
    [{ queues: { a: { concurrency: 0 } } }, 'queue a: concurrency is 0'],
    [{ queues: { a: { partitions: 257 } } }, 'queue a: partitions is 257'],
    [{ queues: { a: 5 } }, 'queue a: The options are 5'],
  ])('%j are refused', (options, message) => {
    expect(() => resolveOptions(options)).toThrow(message);
  });

  it('a queue has the settings of the module, and its own', () => {
    const { queues, ...own } = resolveOptions({ attempts: 7, concurrency: 9, queues: { a: { concurrency: 3 } } });
    expect(queues).toEqual([{ ...own, namespace: 'a', concurrency: 3, queues: [] }]);
    expect(own).toMatchObject({ namespace: 'default', concurrency: 9 });
  });
});

describe('@DelayedTask', () => {
  const apps: (() => Promise<void>)[] = [];
  async function boot(provider: Type): Promise<TestingModule> {
    const client = standaloneClient();
    const app = await Test.createTestingModule({
      imports: [
        ScriptRegistryModule.forRoot({ client, prefix: `queues-${apps.length}-${process.pid}` }),
        DelayedTaskModule.forRoot({ queues: { slow: {} } }),
      ],
      providers: [provider],
    })
      .setLogger(new ConsoleLogger({ logLevels: [] }))
      .compile();
    apps.push(async () => {
      await app.close();
      client.disconnect();
    });
    await app.init();
    return app;
  }
  afterEach(async () => {
    for (const close of apps.splice(0)) await close();
  });

  it('registers a method for the queue of its definition, or of its options', async () => {
    const seen: string[] = [];
    @Injectable()
    class Handlers {
      @DelayedTask(pdf)
      pdf(_payload: { page: number }, { name }: TaskContext): void {
        seen.push(name);
      }
      @DelayedTask('zip', { queue: 'slow' })
      zip(_payload: unknown, { name }: TaskContext): void {
        seen.push(name);
      }
    }
    const tasks = (await boot(Handlers)).get(DelayedTaskService);
    await tasks.schedule(pdf, { page: 1 });
    await tasks.schedule('zip', null, { queue: 'slow' });
    await eventually(() => expect(seen.sort()).toEqual(['pdf', 'zip']));
  });

  it('of a queue that the module does not have is refused at boot, with class and method', async () => {
    @Injectable()
    class Mistaken {
      @DelayedTask('zip', { queue: 'slwo' })
      zip(): void {
        /* nothing */
      }
    }
    await expect(boot(Mistaken)).rejects.toThrow(
      /Mistaken\.zip.*DelayedTaskModule has no queue "slwo"\. Its queues: default, slow\. Add the queue to the option queues\./,
    );
  });
});
