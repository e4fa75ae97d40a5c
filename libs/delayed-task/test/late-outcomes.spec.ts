import { Logger } from '@nestjs/common';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { takeTasks } from '../src/worker/worker.scripts';
import { Gate, listen, openBench, takeCall, type Bench } from './support';

describe('an attempt that ends after another worker has dead-lettered its task', () => {
  let bench: Bench;
  let errors: jest.SpyInstance;
  beforeEach(async () => {
    jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    // With one slot and a long lease, its own worker neither takes nor renews the task before takeElsewhere() takes it.
    bench = await openBench(standaloneClient(), { concurrency: 1, leaseMs: 3_600_000, attempts: 1 });
  });
  afterEach(async () => {
    await bench.close();
    jest.restoreAllMocks();
  });

  /** Ends the lease of a task, and takes due tasks as another worker does. Returns the ids that this dead-letters. */
  async function takeElsewhere(id: string): Promise<string[]> {
    const partition = bench.partitionOf(id);
    await bench.raw.zadd(partition.leased, 'XX', 1, id);
    const call = takeCall(partition, 'other', { token: 'other', limit: 1, leaseMs: 60_000 });
    const { buried } = await bench.registry.run(takeTasks, call);
    return buried.map((task) => task.id);
  }

  it('is `lost`: it neither reports nor logs a dead letter', async () => {
    const settled = listen('attemptSettled');
    const gate = new Gate();
    bench.tasks.handle('mail', async () => {
      await gate.pass();
      throw new Error('too late');
    });
    bench.work();
    await bench.tasks.schedule('mail', null, { id: 'a' });
    await eventually(() => expect(gate.entered).toBe(1));
    // Its own worker renews the lease when its subscription is there, which may be only now.
    await eventually(async () => expect(await takeElsewhere('a')).toEqual(['a']));
    gate.open();
    await eventually(() => expect(settled.events).toHaveLength(1));
    settled.stop();
    expect(settled.events[0]).toMatchObject({ id: 'a', status: 'lost' });
    expect(errors).not.toHaveBeenCalled();
    expect((await bench.tasks.deadLetters()).items).toMatchObject([{ id: 'a', attemptsMade: 1 }]);
  });
});
