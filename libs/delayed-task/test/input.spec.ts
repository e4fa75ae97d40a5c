import { standaloneClient } from '../../script-registry/test/support';
import { openBench, type Bench } from './support';

describe('a call refuses before anything is sent', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(standaloneClient(), { maxPayloadBytes: 20 });
  });
  afterAll(() => bench.close());

  it.each<[string, () => object, RegExp]>([
    ['a delay below 0', () => ({ delayMs: -1 }), /delayMs is -1/],
    ['a delay that is no number', () => ({ delayMs: NaN }), /delayMs is NaN/],
    ['a delay beyond ten years', () => ({ delayMs: 4_000 * 86_400_000 }), /delayMs is 345600000000/],
    ['an instant below 0', () => ({ runAt: -5 }), /runAt is -5/],
    ['an instant too far ahead', () => ({ runAt: Date.now() + 4_000 * 86_400_000 }), /runAt is \d+/],
    ['an invalid Date', () => ({ runAt: new Date('x') }), /runAt is Date NaN/],
    ['two times', () => ({ runAt: 1, delayMs: 1 }), /delayMs is 1 and runAt is 1/],
    ['an empty id', () => ({ id: '' }), /id is ""/],
    ['an id that is a number', () => ({ id: 5 }), /id is 5\. .* Write numbers as text/],
    ['an id with a line break', () => ({ id: 'a\nb' }), /id is "a\\nb"/],
    ['no attempts', () => ({ attempts: 0 }), /attempts is 0/],
    ['a backoff of nonsense', () => ({ backoff: { delayMs: -1 } }), /backoff\.delayMs is -1/],
    ['a result that is kept for less than nothing', () => ({ keepResultMs: -1 }), /keepResultMs is -1/],
    ['an unknown way with conflicts', () => ({ onConflict: 'drop' }), /onConflict is "drop"/],
  ])('%s', async (_title, options, says) => {
    const call = bench.tasks.schedule('t', null, options());
    await expect(call).rejects.toMatchObject({ code: 'INVALID_TASK', message: expect.stringMatching(says) as string });
  });

  it('payloads that are too large, and what JSON cannot hold', async () => {
    const { tasks } = bench;
    await expect(tasks.schedule('t', 'x'.repeat(19))).rejects.toMatchObject({ code: 'TASK_TOO_LARGE' });
    await expect(tasks.schedule('t', 'ü'.repeat(10))).rejects.toMatchObject({ code: 'TASK_TOO_LARGE' });
    await expect(tasks.schedule('t', 'x'.repeat(18), { delayMs: 60_000 })).resolves.toMatchObject({
      status: 'scheduled',
    });
    await expect(tasks.schedule('t', { id: 1n })).rejects.toMatchObject({ code: 'INVALID_TASK' });
    await expect(tasks.schedule('t', () => 1)).rejects.toMatchObject({ code: 'INVALID_TASK' });
    await expect(tasks.schedule('')).rejects.toMatchObject({ code: 'INVALID_TASK' });
    expect((await tasks.stats()).waiting).toBe(1);
  });
});
