import { standaloneClient } from '../../script-registry/test/support';
import { eventually } from '../../../test/support/wait';
import { openBench, type Bench } from './support';

describe('a call refuses before anything is sent', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(standaloneClient(), { maxPayloadBytes: 20 });
  });
  afterAll(() => bench.close());

  it.each<[string, () => object, RegExp]>([
    ['a delay that is not an integer', () => ({ delayMs: -0.5 }), /delayMs is -0\.5/],
    ['a delay that is not a number', () => ({ delayMs: NaN }), /delayMs is NaN/],
    ['a delay beyond 100 years', () => ({ delayMs: 40_000 * 86_400_000 }), /delayMs is 3456000000000/],
    ['an instant below 0', () => ({ runAtMs: -5 }), /runAtMs is -5/],
    ['an instant too far ahead', () => ({ runAtMs: Date.now() + 40_000 * 86_400_000 }), /runAtMs is \d+/],
    ['a Date', () => ({ runAtMs: new Date(5) }), /runAtMs is Date .*Expected an integer/],
    ['two times', () => ({ runAtMs: 1, delayMs: 1 }), /delayMs is 1 and runAtMs is 1/],
    ['an empty id', () => ({ id: '' }), /id is ""/],
    ['an id that is a number', () => ({ id: 5 }), /id is 5\. .* Write numbers as text\./],
    ['an id with a line break', () => ({ id: 'a\nb' }), /id is "a\\nb"/],
    ['no attempts', () => ({ attempts: 0 }), /attempts is 0/],
    ['an invalid backoff', () => ({ backoff: { delayMs: -1 } }), /backoff\.delayMs is -1/],
    ['a negative keepResultMs', () => ({ keepResultMs: -1 }), /keepResultMs is -1/],
    ['an unknown onConflict', () => ({ onConflict: 'drop' }), /onConflict is "drop"/],
  ])('%s', async (_title, options, says) => {
    const call = bench.tasks.schedule('t', null, options());
    await expect(call).rejects.toMatchObject({ code: 'INVALID_INPUT', message: expect.stringMatching(says) as string });
  });

  it.each([
    ['a Set', new Set([{ name: 't' }]), /tasks is an object\. Expected an array of tasks\./],
    ['no list', undefined, /tasks is undefined/],
    ['a task that is null', [{ name: 't' }, null], /tasks\[1\] is null/],
    ['a task that is a name', ['t'], /tasks\[0\] is "t"/],
  ])('%s for scheduleMany', async (_title, tasks, says) => {
    const before = await bench.tasks.stats();
    await expect(bench.tasks.scheduleMany(tasks as never)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringMatching(says) as string,
    });
    expect(await bench.tasks.stats()).toEqual(before);
  });

  it('payloads that are too large, or that JSON cannot hold', async () => {
    const { tasks } = bench;
    await expect(tasks.schedule('t', 'x'.repeat(19))).rejects.toMatchObject({ code: 'TASK_TOO_LARGE' });
    await expect(tasks.schedule('t', 'ü'.repeat(10))).rejects.toMatchObject({ code: 'TASK_TOO_LARGE' });
    await expect(tasks.schedule('t', 'x'.repeat(18), { delayMs: 60_000 })).resolves.toMatchObject({
      status: 'scheduled',
    });
    await expect(tasks.schedule('t', { id: 1n })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(tasks.schedule('t', () => 1)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(tasks.schedule('')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(tasks.schedule(' ')).rejects.toMatchObject({
      message: expect.stringMatching(/^DelayedTaskService: name is " "/) as string,
    });
    expect((await tasks.stats()).waiting).toBe(1);
  });

  it('but accepts times in the past and far ahead', async () => {
    const now = Date.now();
    const past = await bench.tasks.schedule('t', null, { id: 'past', delayMs: -86_400_000 });
    expect(past.status).toBe('scheduled');
    expect(past.runAtMs).toBeGreaterThan(now - 60_000);
    const far = Date.UTC(2100, 0, 1);
    expect(await bench.tasks.schedule('t', null, { runAtMs: far })).toMatchObject({ runAtMs: far });
    expect(await bench.tasks.reschedule('past', { delayMs: -1 })).toMatchObject({ status: 'rescheduled' });
  });

  it('sends large payloads in calls of a bounded size', async () => {
    const maxPayloadBytes = 16 * 1024 * 1024;
    const large = await openBench(standaloneClient(), { maxPayloadBytes }, { deadlineMs: 60_000 });
    const run = jest.spyOn(large.registry, 'run');
    const payload = 'x'.repeat(1_000_000);
    const many = Array.from({ length: 12 }, (_, i) => ({ name: 't', id: `l${i}`, payload, delayMs: 60_000 }));
    const small = Array.from({ length: 100 }, (_, i) => ({ name: 't', id: `s${i}`, delayMs: 60_000 }));
    const answers = await large.tasks.scheduleMany([...many, ...small]);
    expect(answers.map(({ id, status }) => [id, status])).toEqual(
      [...many, ...small].map(({ id }) => [id, 'scheduled']),
    );
    const sizes = run.mock.calls.map(([, { args }]) => (args as { tasks: string[] }).tasks.join('').length);
    expect(Math.max(...sizes)).toBeLessThan(4_200_000);
    expect(sizes.length).toBeLessThan(8);
    expect(await large.tasks.cancel('l11')).toBe('cancelled');
    // So does a take: 25 MB that are due at once come in two or more.
    const due = Array.from({ length: 25 }, (_, i) => ({ name: 'large', id: `x${i}`, payload }));
    await large.tasks.scheduleMany(due);
    run.mockClear();
    const ran: string[] = [];
    large.tasks.handle('large', (text: string, { id }) => void ran.push(`${id} ${text.length}`));
    large.work();
    await eventually(() => expect(ran.sort()).toEqual(due.map(({ id }) => `${id} 1000000`).sort()));
    const takes = run.mock.calls.map(([script], i) => [script.name, run.mock.results[i]?.value] as const);
    const counts = await Promise.all(
      takes
        .filter(([name]) => name === 'delayed-task.take')
        .map(async ([, reply]) => ((await reply) as { tasks: unknown[] }).tasks.length),
    );
    expect(Math.max(...counts)).toBe(16);
    await large.close();
  });
});
