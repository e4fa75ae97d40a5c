import { LuanestError, InvalidInputError } from 'luanest/script-registry';
import { HOSTILE_IDS, hostileValues, IMPOSSIBLE_IDS, isPolluted } from '../../../test/support/hostile';
import { eventually } from '../../../test/support/wait';
import { resolveOptions } from '../src/delayed-task.options';
import { openBench, servers } from './support';

const CONTROL = /\p{Cc}/u;
const IDS = HOSTILE_IDS.filter((id) => !CONTROL.test(id));

describe.each(servers)('tasks with hostile ids and names on %s', (_name, connect, partitions) => {
  it('run each with its own payload, and change no prototype', async () => {
    const bench = await openBench(connect(), { partitions, keepResultMs: 60_000 });
    const seen = new Map<string, unknown>();
    bench.tasks.handle('__proto__', (payload: unknown, { id }) => {
      seen.set(id, payload);
      return payload;
    });
    const payload = JSON.parse(
      '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
    ) as object;
    const answers = await bench.tasks.scheduleMany(IDS.map((id) => ({ name: '__proto__', payload, id })));
    expect(answers.map(({ id, status }) => [id, status])).toEqual(IDS.map((id) => [id, 'scheduled']));
    bench.work();
    await eventually(() => expect(seen.size).toBe(IDS.length));
    const results = await eventually(async () => {
      const views = await Promise.all(IDS.map((id) => bench.tasks.get(id)));
      expect(views.every((view) => view?.state === 'done')).toBe(true);
      return views;
    });
    for (const of of [...seen.values(), ...results.map((view) => (view as unknown as { result: unknown }).result)]) {
      expect(JSON.stringify(of)).toBe(JSON.stringify(payload));
      expect((of as { polluted?: boolean }).polluted).toBeUndefined();
    }
    expect(isPolluted()).toBe(false);
    await bench.close();
  });

  it('are refused in one short line if invalid, before anything is sent', async () => {
    const bench = await openBench(connect(), { partitions });
    const control = HOSTILE_IDS.filter((id) => CONTROL.test(id));
    for (const value of [...IMPOSSIBLE_IDS, ...control, ...hostileValues()] as string[]) {
      const calls = [
        () => bench.tasks.schedule(value, {}, {}),
        () => bench.tasks.schedule('n', {}, { id: value }),
        () => bench.tasks.get(value),
        () => bench.tasks.cancel(value),
        () => bench.tasks.deadLetters({ cursor: value }),
      ];
      for (const call of calls) {
        const error = await (async () => call())().then(
          () => 'nothing',
          (reason: unknown) => reason as Error,
        );
        expect(error).toBeInstanceOf(InvalidInputError);
        expect((error as Error).message).toMatch(/^[^\p{Cc}]{1,300}$/u);
      }
    }
    expect(await bench.tasks.stats()).toMatchObject({ waiting: 0 });
    await bench.close();
  });

  it('are logged and reported without the private data of a handler, except the text of its error', async () => {
    const bench = await openBench(connect(), { partitions, attempts: 1 });
    bench.tasks.handle('n', () => {
      throw new Error('line one\nFATAL line two');
    });
    await bench.tasks.schedule('n', { token: 'hunter2' }, { id: 'a' });
    bench.work();
    const [dead] = await eventually(async () => {
      const { items } = await bench.tasks.deadLetters();
      expect(items).toHaveLength(1);
      return items;
    });
    expect(dead?.error).toContain('line one');
    expect(dead?.error).not.toContain('hunter2');
    await bench.close();
  });
});

it('options with hostile names are accepted or refused, and change no other object', () => {
  for (const option of Object.keys(resolveOptions({}))) {
    for (const value of hostileValues()) {
      try {
        resolveOptions({ [option]: value });
      } catch (error) {
        expect([option, error]).toEqual([option, expect.any(LuanestError)]);
      }
    }
  }
  expect(() => resolveOptions(JSON.parse('{"__proto__":{"polluted":true}}') as object)).toThrow(/__proto__/);
  expect(isPolluted()).toBe(false);
});
