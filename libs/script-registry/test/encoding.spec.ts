import { defineScript, int, list, str, type ScriptDefinition } from 'luanest/script-registry';
import { Call } from '../src/pipe/call';
import { ScriptCodec } from '../src/pipe/script-codec';
import { checkSameSlot } from '../src/pipe/script-codec';
import { columns, sumAll } from './support';

function encoded(definition: ScriptDefinition, keys: object, args: object): { words: unknown[]; chars: number } {
  const none = (): void => undefined;
  const call = new Call(definition, 0, undefined, none, none);
  new ScriptCodec(definition, true).encode(call, { keys, args });
  return call;
}

describe('a call is encoded', () => {
  it('as its keys and arguments, in the order of the definition', () => {
    const { words, chars } = encoded(sumAll, { parts: ['{a}1', '{a}2'], total: '{a}' }, { extra: [3, 45], factor: -2 });
    expect(words).toEqual([expect.any(String), '3', '{a}', '{a}1', '{a}2', '-2', '3', '45']);
    expect(chars).toBe(16);
    expect(encoded(sumAll, { total: '{a}', parts: [] }, { factor: 0, extra: [] }).words.slice(1)).toEqual([
      '1',
      '{a}',
      '0',
    ]);
  });

  it.each([undefined, null, 5, {}, { keys: {} }, { args: {} }, { keys: 'k', args: {} }])(
    'unless there are none: %j',
    (input) => {
      const none = (): void => undefined;
      const call = new Call(sumAll, 0, undefined, none, none);
      expect(() => new ScriptCodec(sumAll, true).encode(call, input as never)).toThrow(
        /^The script test\.sum-all was called with keys .* and args .*\. Expected { keys: {\.\.\.}, args: {\.\.\.} }\.$/,
      );
    },
  );

  it('unless a key or a list is wrong', () => {
    const wrong =
      (parts: unknown, total: unknown = '{a}', extra: unknown = []): (() => unknown) =>
      () =>
        encoded(sumAll, { total, parts }, { factor: 1, extra });
    expect(wrong([], '')).toThrow('Key "total" of the script test.sum-all is empty. Expected a non-empty string');
    expect(wrong([], 5)).toThrow('Key "total" of the script test.sum-all is 5. Expected');
    expect(wrong(['\ud800'])).toThrow(
      'Key "parts" of the script test.sum-all is text that is not well-formed Unicode. Expected',
    );
    expect(wrong('x')).toThrow('List "parts" of the script test.sum-all is "x". Expected an array.');
    expect(wrong([], '{a}', 7)).toThrow('List "extra" of the script test.sum-all is 7. Expected an array.');
    expect(wrong([], '{a}', ['7'])).toThrow('"extra" of the script test.sum-all is "7"');
    expect(wrong(['b'])).toThrow('its keys are in two hash slots');
    const onlyList = defineScript({
      ...{ name: 'test.only-list', keys: ['all[]'], args: { one: str, many: list(int) }, source: 'return #KEYS' },
      reply: (raw: number) => raw,
    });
    expect(() => encoded(onlyList, { all: [] }, { one: '', many: [] })).toThrow(
      'The list of keys "all" of the script test.only-list is empty. Expected at least one key.',
    );
    expect(() => encoded(onlyList, { all: ['a'] }, { one: 1, many: [] })).toThrow('"one" of the script test.only-list');
    expect(encoded(onlyList, { all: ['a'] }, { one: 'x', many: [7] }).words.slice(1)).toEqual(['1', 'a', 'x', '7']);
  });

  it.each([
    ['by default', columns, true, [128, 2]],
    ['without grouping', columns, false, [1, 1]],
    ['with `group: false`', { ...columns, group: false }, true, [1, 1]],
    ['with `maxCalls: 1`', { ...columns, group: { maxCalls: 1, source: undefined } }, true, [1, 1]],
    ['if its Lua reads `...`', { ...columns, source: 'return { ... }' }, true, [1, 1]],
    ['if its Lua uses random numbers', { ...columns, source: 'return math.random(9)' }, true, [1, 1]],
    ['if its Lua changes the protocol', { ...columns, source: 'redis.setresp(3)' }, true, [1, 1]],
    ['if its Lua changes replication', { ...columns, source: 'redis.set_repl(1)' }, true, [1, 1]],
    ['if its Lua changes an environment', { ...columns, source: 'setfenv(1, {})' }, true, [1, 1]],
    ['if a name only contains such a word', { ...columns, source: 'return randomly' }, true, [128, 2]],
  ])('for groups of so many calls %s', (_, definition, grouping, expected) => {
    const { maxCalls, forms } = new ScriptCodec(definition as ScriptDefinition, grouping);
    expect([maxCalls, forms.length]).toEqual(expected);
  });
});

describe('keys of one call', () => {
  const check =
    (keys: string[], checked?: string[]): (() => void) =>
    () =>
      checkSameSlot('test.one', ['sha', 'n', ...keys], keys.length, checked && ['sha', 'n', ...checked]);

  it.each([
    ['{a}1', '{a}2'],
    ['x{a}1', '{a}2'],
    ['a', '{a}x'],
    ['a', 'a'],
    ['{}a', '{}a'],
    ['p{a}1', 'p{a}2'],
    ['{a}1', '{a}2', 'a'],
  ])('are in one slot by their hash tag, or by their whole text: %s %s', (...keys) => {
    expect(check(keys)).not.toThrow();
  });

  it.each([
    ['{a}1', '{b}1'],
    ['{}a', '{}b'],
    ['a', 'b'],
    ['{a', '{ab'],
    ['a}x', 'a}y'],
    ['ab}x', 'ab}y'],
    ['{a}', '{b}{a}'],
    ['a', 'undefined'],
    ['}{b}', '}{c}'],
  ])('may be in two slots: %s %s', (...keys) => {
    expect(check(keys)).toThrow(
      `The script test.one was not sent, because its keys are in two hash slots: "${keys[0]}" in slot`,
    );
  });

  it('are named if they are in two slots', () => {
    expect(check(['{a}1', '{a}2', 'b'])).toThrow('and "b" in slot 3300. Build all keys of a call from one KeySpace');
  });

  it('are not checked again where they are those of an earlier call with the same first key', () => {
    expect(check(['a', 'b'], ['a', 'b'])).not.toThrow();
    expect(check(['a', 'b'], ['c', 'b'])).toThrow('its keys are in two hash slots');
    expect(check(['a', 'b', 'c'], ['a', 'b', 'd'])).toThrow('and "c" in');
    expect(check(['{a}1', '{a}2'], ['{a}1', '{a}2', '{a}3'])).not.toThrow();
  });
});
