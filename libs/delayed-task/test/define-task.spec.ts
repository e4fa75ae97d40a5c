import { InvalidInputError } from 'luanest/script-registry';
import { defineTask, type DelayedTaskService } from 'luanest/delayed-task';
import { eventually } from '../../../test/support/wait';
import { openBench, servers, type Bench } from './support';

const standaloneClient = (servers[0] as (typeof servers)[0])[1];

describe('defineTask', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(standaloneClient(), { attempts: 7, keepResultMs: 60_000, timeoutMs: 60_000 });
  });
  afterAll(() => bench.close());

  it('gives schedule its settings; options of the call override them, and the module has the rest', async () => {
    const defined = defineTask<{ n: number }>({ name: 'defined', attempts: 3 });
    await bench.tasks.schedule(defined, { n: 1 }, { id: 'a', delayMs: 60_000 });
    await bench.tasks.schedule(defined, { n: 2 }, { id: 'b', delayMs: 60_000, attempts: 2 });
    await bench.tasks.scheduleMany([
      { task: defined, payload: { n: 3 }, id: 'c', delayMs: 60_000 },
      { name: 'plain', id: 'd', delayMs: 60_000 },
    ]);
    const views = await Promise.all(['a', 'b', 'c', 'd'].map((id) => bench.tasks.get(id)));
    expect(views.map((view) => [view?.name, view?.payload, view?.attempts])).toEqual([
      ['defined', { n: 1 }, 3],
      ['defined', { n: 2 }, 2],
      ['defined', { n: 3 }, 3],
      ['plain', null, 7],
    ]);
  });

  it('gives its handler the timeout', async () => {
    const slow = defineTask<null>({ name: 'slow', timeoutMs: 30, attempts: 1 });
    bench.tasks.handle(
      slow,
      (_payload, { signal }) =>
        new Promise<void>((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    );
    bench.work();
    await bench.tasks.schedule(slow, null, { id: 'slow' });
    await eventually(async () =>
      expect(await bench.tasks.get('slow', slow)).toMatchObject({
        state: 'dead',
        error: expect.stringMatching(/^TimeoutError/) as string,
      }),
    );
  });

  it('refuses to read a task of another name', async () => {
    await bench.tasks.schedule('one', null, { id: 'one', delayMs: 60_000 });
    await expect(bench.tasks.get('one', defineTask({ name: 'other' }))).rejects.toThrow(
      new InvalidInputError(
        `DelayedTaskService: The task with this id has the name "one", but the call expects a task named "other". Pass the definition for the name of this task, or another id.`,
      ),
    );
  });

  it.each([
    [undefined, /^defineTask: The options are undefined/],
    [{ name: '' }, /name is ""\. Expected 1 to 128 characters/],
    [{ name: 'x', atempts: 5 }, /^defineTask of x: There is no option "atempts"/],
    [{ name: 'x', attempts: 0 }, /^defineTask of x: attempts is 0/],
    [{ name: 'x', timeoutMs: '5s' }, /^defineTask of x: timeoutMs is "5s"/],
    [{ name: 'x', backoff: { delayMs: -1 } }, /^defineTask of x: backoff\.delayMs is -1/],
  ])('refuses %p', (options, message) => {
    expect(() => defineTask(options as never)).toThrow(message);
  });

  it('is refused in the service if its name is invalid', async () => {
    const tasks: DelayedTaskService = bench.tasks;
    await expect(tasks.schedule({ name: 5 } as never, null)).rejects.toThrow(/name is 5/);
  });
});
