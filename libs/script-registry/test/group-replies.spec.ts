import { CompiledScript } from '../src/group/compiled-script';
import { asText, untag } from '../src/group/reply-text';
import { checkSameSlot } from '../src/group/slots';
import type { AnyScript } from 'luanest/script-registry';
import { callOf } from './group-support';
import { shapes } from './support';

/** Compiles a script, makes so many calls of it, and settles them with a reply. @returns what each got */
function settledBy(reply: unknown, definition: AnyScript, calls: number, stringNumbers = false): unknown[] {
  const compiled = new CompiledScript(definition, true, stringNumbers);
  const made = Array.from({ length: calls }, () => callOf(definition));
  compiled.settle(
    reply,
    made.map(({ call }) => call),
    (call, error) => call.reject(error),
  );
  return made.map(({ settled }) => {
    expect(settled).toHaveLength(1);
    return settled[0] instanceof Error ? settled[0].message : settled[0];
  });
}

describe('keys of one call', () => {
  const check = (keys: string[], checked: string[] = []): void => checkSameSlot('test.one', keys, checked);

  it('are in one slot by their hash tag, or by their whole text', () => {
    for (const keys of [
      ['{a}1', '{a}2'],
      ['x{a}1', '{a}2'],
      ['a', '{a}x'],
      ['a', 'a'],
      ['{}a', '{}a'],
      ['p{a}1', 'p{a}2'],
    ])
      expect(() => check(keys)).not.toThrow();
    for (const keys of [
      ['{a}1', '{b}1'],
      ['{}a', '{}b'],
      ['a', 'b'],
      ['{a', '{ab'],
      ['a}x', 'a}y'],
      ['ab}x', 'ab}y'],
      ['{a}', '{b}{a}'],
      ['a', 'undefined'],
      ['}{b}', '}{c}'],
    ])
      expect(() => check(keys)).toThrow(`test.one got keys of two slots: "${keys[0]}" in`);
    expect(() => check(['{a}1', '{a}2', 'b'])).toThrow('and "b" in 3300. Build all keys of a call from one KeySpace');
  });

  it('are not checked again where they are those of an earlier call with the same first key', () => {
    expect(() => check(['a', 'b'], ['a', 'b'])).not.toThrow();
    expect(() => check(['a', 'b'], ['c', 'b'])).toThrow('got keys of two slots');
    expect(() => check(['a', 'b', 'c'], ['a', 'b', 'd'])).toThrow('and "c" in');
    expect(() => check(['{a}1', '{a}2'], ['{a}1', '{a}2', '{a}3'])).not.toThrow();
  });
});

describe('replies', () => {
  it('become text, but for numbers and null', () => {
    const bytes = (text: string): Buffer => Buffer.from(text);
    expect(asText(bytes('é'))).toBe('é');
    expect([asText(7), asText(null), asText('x')]).toEqual([7, null, 'x']);
    const reply = [1, bytes('a'), null, [bytes('b'), [2]]];
    expect(asText(reply)).toBe(reply);
    expect(reply).toEqual([1, 'a', null, ['b', [2]]]);
  });

  it('lose their tags', () => {
    expect(untag(['i12', 'sabc', 'n', ['i-3', 'si1'], 's', null, 4])).toEqual([
      12,
      'abc',
      null,
      [-3, 'i1'],
      '',
      null,
      4,
    ]);
    expect(untag(['smoon', 'si'])).toEqual(['moon', 'i']);
    expect(untag(Buffer.from('i12'))).toBe(12);
    expect(untag(Buffer.from('n'))).toBeNull();
    expect(untag(Buffer.from('sabc'))).toEqual(Buffer.from('abc'));
  });

  it('of a lone call, or of a group without its header', () => {
    expect(settledBy(5, shapes, 1)).toEqual([5]);
    const missing =
      'test.shapes ran, but the reply of its group is incomplete (0 values for 2 calls), so the result is lost.';
    expect(settledBy([], shapes, 2)).toEqual([missing, missing]);
    expect(settledBy('x', shapes, 2)).toEqual([missing, missing]);
  });

  it('of a group are split by their marks', () => {
    const of = (header: string, ...values: unknown[]): unknown[] => settledBy([header, ...values], shapes, 3);
    const missing = 'test.shapes ran, but the reply of its group is incomplete';
    expect(of('0:', 1, 'b', [3])).toEqual([1, 'b', [3]]);
    expect(of('0', 1, 'b', [3])).toEqual([1, 'b', [3]]);
    expect(of('1', 1, 2, 3)).toEqual([[1], [2], [3]]);
    expect(of('0:.n.', 1, 3)).toEqual([1, null, 3]);
    expect(of('0:.e.', 1, 'MYCODE x', 3)).toEqual([1, 'test.shapes failed: MYCODE x', 3]);
    expect(of('2:', 1, 2, 3, 4, 5, 6)).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);
    expect(of('2:.ne', 1, 2, 'XY z')).toEqual([[1, 2], null, 'test.shapes failed: XY z']);
    expect(of('2:.v.', 1, 2, [9], 3, 4)).toEqual([[1, 2], [9], [3, 4]]);
    expect(of('0:', 1, 2)).toEqual([1, 2, `${missing} (3 values for 3 calls), so the result is lost.`]);
    expect(of('0:..', 1, 2, 3)).toEqual([1, 2, `${missing} (4 values for 3 calls), so the result is lost.`]);
    expect(of('2:', 1, 2, 3, 4, 5)).toEqual([
      [1, 2],
      [3, 4],
      `${missing} (6 values for 3 calls), so the result is lost.`,
    ]);
    expect(of(':', 1, 2, 3)).toEqual(Array(3).fill(`${missing} (4 values for 3 calls), so the result is lost.`));
  });

  it('of a group have the time of its header, and lose their tags', () => {
    const times: number[] = [];
    const definition = { ...shapes, reply: (raw: never, atUs: number) => (times.push(atUs), raw) };
    expect(settledBy(['0:.n:17', 'i5'], definition as never, 2, true)).toEqual([5, null]);
    expect(settledBy(['0::18', 'i5', 'sx'], definition as never, 2, true)).toEqual([5, 'x']);
    expect(settledBy(['0:', 5, 6], definition as never, 2)).toEqual([5, 6]);
    expect(times).toEqual([17, 17, 18, 18, NaN, NaN]);
  });
});
