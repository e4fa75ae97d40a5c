import { common, defineScript, int, list, str, type AnyScript } from 'luanest/script-registry';
import type { Call } from '../src/group/call';
import { CallEncoder } from '../src/group/call-encoder';
import { alike, pushAll, pushColumns } from '../src/group/columns';
import { CompiledScript } from '../src/group/compiled-script';
import { callOf } from './group-support';
import { allCommon, columns, sumAll } from './support';

describe('the command of a group', () => {
  const encoded = (definition: AnyScript, ...inputs: [keys: object, args: object][]) => {
    const compiled = new CompiledScript(definition, true, false);
    const calls = inputs.map(([keys, args]) => {
      const { call } = callOf(definition);
      compiled.encode(call, keys as never, args as never);
      return call;
    });
    return { command: compiled.command('head', calls), chars: calls.map(({ chars }) => chars) };
  };

  it('of one call has its keys and arguments', () => {
    const { command, chars } = encoded(sumAll, [
      { total: '{a}', parts: ['{a}1'] },
      { factor: 2, extra: [3, 45] },
    ]);
    expect(command).toEqual(['head', '2', '{a}', '{a}1', '2', '3', '45']);
    expect(chars).toEqual([11]);
  });

  it('has equal keys and arguments once, and common ones last', () => {
    const row = (any: string, one: string, rule: string, two: number, figure: number): [object, object] => [
      { any },
      { one, rule, two, figure },
    ];
    expect(encoded(columns, row('a', 'x', 'r', 1, 2), row('a', 'y', 'r', 1, 2)).command).toEqual([
      'head',
      '1',
      'a',
      '2',
      '1',
      'x',
      '1',
      'y',
      '1',
      'r',
      '2',
    ]);
    expect(encoded(columns, row('a', 'x', 'r', 1, 2), row('b', 'x', 'q', 1, 2)).command).toEqual([
      'head',
      '2',
      'a',
      'b',
      '2',
      '2',
      'x',
      '1',
      'r',
      '2',
      'q',
      '2',
    ]);
    expect(
      encoded(allCommon, ...['a', 'b'].map((any): [object, object] => [{ any }, { rule: 'r', figure: 1 }])).command,
    ).toEqual(['head', '2', 'a', 'b', '2', '1', 'r', '1']);
  });

  it('with lists has the lengths of each call', () => {
    const one: [object, object] = [
      { total: '{a}', parts: ['{a}1'] },
      { factor: 2, extra: [3, 4] },
    ];
    const two: [object, object] = [
      { total: '{a}', parts: [] },
      { factor: 5, extra: [] },
    ];
    expect(encoded(sumAll, one, two).command).toEqual([
      'head',
      '3',
      '{a}',
      '{a}1',
      '{a}',
      '2',
      '2',
      '3',
      '1',
      '1',
      '2',
      '3',
      '4',
      '5',
    ]);
  });

  it('is limited by the definition', () => {
    const limits = (definition: AnyScript, grouping = true): unknown[] => {
      const { maxCalls, maxChars, forms, name } = new CompiledScript(definition, grouping, false);
      return [maxCalls, maxChars, forms.length, name];
    };
    expect(limits(columns)).toEqual([128, 65_536, 2, 'test.columns']);
    expect(limits(columns, false)).toEqual([1, 65_536, 1, 'test.columns']);
    expect(limits({ ...columns, group: false } as never)).toEqual([1, 1, 1, 'test.columns']);
    expect(limits({ ...columns, source: 'return { ... }' })).toEqual([1, 65_536, 1, 'test.columns']);
    expect(limits({ ...columns, group: { maxCalls: 1, maxChars: 9 } })).toEqual([1, 9, 1, 'test.columns']);
    const compiled = new CompiledScript(columns, true, false);
    expect(compiled.formFor(1)).toBe(compiled.forms[0]);
    expect(compiled.formFor(2)).toBe(compiled.forms[1]);
  });

  it('has a shape by its keys and arguments', () => {
    const shapeOf = (keys: string[], args: object): unknown =>
      new CallEncoder({ name: 'test.shape', keys, args } as unknown as AnyScript).shape;
    expect(shapeOf(['a'], {})).toEqual({ fixedKeys: 1, fixedArgs: [], lists: false });
    expect(shapeOf(['a', 'b'], { x: int, y: common(str), z: int })).toEqual({
      ...{ fixedKeys: 2, fixedArgs: [false, true, false], lists: false },
    });
    expect(shapeOf(['a', 'b[]'], { x: int })).toEqual({ fixedKeys: 1, fixedArgs: [false], lists: true });
    expect(shapeOf(['a'], { many: list(int) })).toEqual({ fixedKeys: 1, fixedArgs: [], lists: true });
    expect(shapeOf(['a[]'], { x: int, y: int, many: list(int) })).toEqual({
      ...{ fixedKeys: 0, fixedArgs: [false, false], lists: true },
    });
  });

  it('refuses wrong keys and lists', () => {
    const keysOf =
      (parts: unknown, total: unknown = '{a}'): (() => unknown) =>
      () =>
        encoded(sumAll, [
          { total, parts },
          { factor: 1, extra: [] },
        ]);
    expect(keysOf([], '')).toThrow('Key "total" of test.sum-all is empty. Expected a non-empty string');
    expect(keysOf([], 5)).toThrow('Key "total" of test.sum-all is 5. Expected');
    expect(keysOf(['\ud800'])).toThrow('Key "parts" of test.sum-all is text with a lone surrogate. Expected');
    expect(keysOf('x')).toThrow('List "parts" of test.sum-all is "x". Expected an array.');
    expect(keysOf(['b'])).toThrow('got keys of two slots');
    const onlyList = defineScript({
      ...{ name: 'test.only-list', keys: ['all[]'], args: { one: str, many: list(int) }, source: 'return #KEYS' },
      reply: (raw: number) => raw,
    });
    expect(() => encoded(onlyList, [{ all: [] }, { one: '', many: [] }])).toThrow(
      'The list of keys "all" of test.only-list is empty. Expected at least one key.',
    );
    expect(encoded(onlyList, [{ all: ['a'] }, { one: 'x', many: [7] }]).command).toEqual(['head', '1', 'a', 'x', '7']);
    expect(() => encoded(onlyList, [{ all: ['a'] }, { one: 'x', many: ['7'] }])).toThrow('"many" of test.only-list');
    expect(() => encoded(onlyList, [{ all: ['a'] }, { one: 1, many: [] }])).toThrow('"one" of test.only-list');
  });
});

describe('columns of calls', () => {
  const rows = [
    { keys: ['a', 'b'], args: ['1'] },
    { keys: ['a', 'c'], args: ['1'] },
  ] as unknown as Call[];

  it('are compared by the wanted indexes', () => {
    expect([alike(rows, 'keys', [0]), alike(rows, 'keys', [0, 1]), alike(rows, 'keys', [1])]).toEqual([
      true,
      false,
      false,
    ]);
    expect([alike(rows, 'args', [0]), alike(rows, 'args', []), alike(rows.slice(1), 'keys', [1])]).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('are appended call by call', () => {
    const command = ['x'];
    pushColumns(command, rows, 'keys', [1, 0], 2);
    pushColumns(command, rows, 'keys', [1], 1);
    pushColumns(command, rows, 'keys', [1], 0);
    pushAll(command, ['y', 'z']);
    expect(command).toEqual(['x', 'b', 'a', 'c', 'a', 'b', 'y', 'z']);
  });
});
