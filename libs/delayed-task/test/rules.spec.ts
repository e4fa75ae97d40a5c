import { defineTask } from 'luanest/delayed-task';
import {
  checkScheduling,
  encodeJson,
  encodeNote,
  readResult,
  readRun,
  RecordReader,
  RecordWriter,
  whenOf,
  checkId,
  checkName,
} from '../src/queue/task-codec';

const YEARS_MS = 36_525 * 86_400_000;

describe('the input of tasks', () => {
  it('has ids and names of bounded length', () => {
    expect([checkId('x'.repeat(256)), checkName('n'.repeat(128)), checkName(' n ')]).toEqual([
      ...['x'.repeat(256), 'n'.repeat(128), ' n '],
    ]);
    const expected = 'Expected 1 to 256 characters without control characters, as well-formed Unicode';
    expect(() => checkId({})).toThrow(/well-formed Unicode\.$/);
    for (const id of ['', 'x'.repeat(257), 'a\u0000', 'a\u001f', '\u007fb', '\ud800', null])
      expect(() => checkId(id)).toThrow(`${expected}.`);
    for (const id of [5, 5n]) expect(() => checkId(id)).toThrow(`${expected}. Write numbers as text.`);
    expect(() => checkName('n'.repeat(129))).toThrow('1 to 128 characters');
    expect(() => checkName('  ')).toThrow('text that is not blank');
    expect(checkId('  ')).toBe('  ');
  });

  it('has a delay or an instant', () => {
    expect([
      whenOf({}),
      whenOf({ delayMs: 5 }),
      whenOf({ delayMs: -5 }),
      whenOf({ runAtMs: 7 }),
      whenOf({ runAtMs: 0 }),
    ]).toEqual([...['d0', 'd5', 'd0', 'a7', 'a0']]);
    expect(() => whenOf({ delayMs: 5, runAtMs: 7 })).toThrow('delayMs is 5 and runAtMs is 7. Set only one of the two.');
    for (const runAtMs of [-1, 0.5, Date.now() + 2 * YEARS_MS, '7'])
      expect(() => whenOf({ runAtMs } as never)).toThrow('an integer of ms since 1970, from 0 to 100 years ahead');
    expect(whenOf({ runAtMs: Date.now() + YEARS_MS / 2 })).toMatch(/^a\d+$/);
    for (const delayMs of [0.5, 2 * YEARS_MS, -2 * YEARS_MS]) expect(() => whenOf({ delayMs })).toThrow('delayMs is');
    expect(() => checkScheduling({ other: 1 } as never)).toThrow('There is no option "other". Known: ');
    const all = { delayMs: 1, runAtMs: 1, id: 'a', attempts: 1, backoff: {}, keepResultMs: 1, onConflict: 'keep' };
    expect(checkScheduling(all as never)).toBe(all);
  });

  it('is JSON of a bounded size, in bytes', () => {
    expect([encodeJson('payload', { a: 'é' }, 10), encodeJson('payload', 'aé', 5)]).toEqual(['{"a":"é"}', '"aé"']);
    expect(() => encodeJson('payload', 'aé', 4)).toThrow(
      'The payload of the task has 5 bytes as JSON. At most 4 bytes are allowed (maxPayloadBytes). Store the data elsewhere and pass its id.',
    );
    expect(() => encodeJson('result', () => 1, 9)).toThrow(
      'The result of the task is a function, for which JSON.stringify() returns',
    );
    expect(() => encodeJson('result', 1n, 9)).toThrow('The result of the task cannot be written as JSON: TypeError');
    expect(() => encodeJson('result', 1n, 9)).toThrow(
      expect.objectContaining({ cause: expect.any(TypeError) as unknown }) as Error,
    );
  });
});

describe('the record of a task', () => {
  const defaults = {
    ...{ attempts: 3, keepResultMs: 10, maxPayloadBytes: 1_000 },
    backoff: { delayMs: 1, factor: 2, maxDelayMs: 9 },
  };
  const writer = new RecordWriter(defaults);

  it('has the settings of the call, else of the definition, else of the module', () => {
    expect(writer.write('n', undefined, {})).toBe('3\n10\n1 2 9\nn\nnull');
    expect(writer.write('n', { a: 1 }, { attempts: 5 })).toBe('5\n10\n1 2 9\nn\n{"a":1}');
    expect(writer.write('n', 1, { keepResultMs: 0 })).toBe('3\n0\n1 2 9\nn\n1');
    expect(writer.write('n', 1, { backoff: { delayMs: 4, factor: 1, maxDelayMs: 8 } })).toBe('3\n10\n4 1 8\nn\n1');
    const task = defineTask({ name: 'd', attempts: 7, keepResultMs: 70 });
    expect(writer.write(task, 1, {})).toBe('7\n70\n1 2 9\nd\n1');
    expect(() => writer.write('n', 1n, {})).toThrow('The payload of the task cannot be written as JSON');
    expect(writer.write(task, 1, { attempts: 2 })).toBe('2\n70\n1 2 9\nd\n1');
  });

  it('is read as it was written', () => {
    const reader = new RecordReader();
    const one = reader.read('5\n20\n1 2 9\nn\n{"a":1}');
    expect(one).toEqual({
      ...{
        attempts: 5,
        keepResultMs: 20,
        backoff: { delayMs: 1, factor: 2, maxDelayMs: 9 },
        name: 'n',
        payload: '{"a":1}',
      },
    });
    expect(reader.read('1\n0\n1 2 9\nm\n1').backoff).toBe(one.backoff);
    expect(reader.read('1\n0\n1 3 9\nm\n1').backoff).toEqual({ delayMs: 1, factor: 3, maxDelayMs: 9 });
    expect(new RecordReader().read('')).toEqual({
      ...{ attempts: 0, keepResultMs: 0, backoff: { delayMs: 0, factor: 1, maxDelayMs: 0 }, name: '', payload: 'null' },
    });
  });

  it('has its attempts and result next to it', () => {
    expect(readRun('')).toEqual({ attemptsMade: 0, firstFailedAtMs: 0, error: '' });
    expect(readRun('2 a b c 17 d some error')).toEqual({ attemptsMade: 2, firstFailedAtMs: 17, error: 'some error' });
    expect([encodeNote('lost'), readResult('!lost')]).toEqual(['!lost', { result: undefined, error: 'lost' }]);
    expect([readResult(''), readResult('{"a":1}')]).toEqual([
      { result: undefined, error: '' },
      { result: { a: 1 }, error: '' },
    ]);
  });
});
