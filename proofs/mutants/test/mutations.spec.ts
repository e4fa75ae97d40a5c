import { compile } from '../../../libs/memory-redis/src/lua/compiler';
import { mutated, mutationsOf } from '../lua/mutations';
import { LibScripts } from '../lua/scripts';

const COUNTS = { KEYS: 2, ARGV: 3 };

function allOf(source: string): string[] {
  return mutationsOf(source, COUNTS).map((one) => `${one.kind}: ${mutated(source, one)}`);
}

describe('mutations', () => {
  it('drop statements, and the values of locals', () => {
    expect(allOf('local a, b = f()\ng(a)')).toEqual([
      'value not set: local a, b\ng(a)',
      'statement dropped: local a, b = f()\n',
    ]);
  });

  it('drop a TTL, as a command and as an option', () => {
    expect(allOf("redis.call('PEXPIRE', k, ms)")).toEqual(['TTL not set: ']);
    expect(allOf("redis.call('SET', k, v, 'PX', ms, 'NX')")).toEqual([
      'statement dropped: ',
      "TTL not set: redis.call('SET', k, v, 'NX')",
    ]);
  });

  it('turn comparisons and `not`, and swap `and` and `or`', () => {
    expect(allOf('return not a and b <= c')).toEqual([
      'statement dropped: ',
      'not dropped: return  a and b <= c',
      'and/or swapped: return not a or b <= c',
      'comparison turned: return not a and b < c',
    ]);
  });

  it('change constants, keys and arguments', () => {
    expect(allOf('return { 7, true, KEYS[2], ARGV[2] }').slice(1)).toEqual([
      'constant off by one: return { 8, true, KEYS[2], ARGV[2] }',
      'boolean turned: return { 7, false, KEYS[2], ARGV[2] }',
      'key swapped: return { 7, true, KEYS[1], ARGV[2] }',
      'argument swapped: return { 7, true, KEYS[2], ARGV[3] }',
    ]);
  });

  it('change no text and no comment', () => {
    expect(allOf("-- 1 < 2\nf('not 1 == 2')")).toEqual(['statement dropped: -- 1 < 2\n']);
  });

  it('drop an `if` with one statement only once', () => {
    expect(allOf('if a then f() end')).toEqual(['statement dropped: ']);
  });

  it('name the innermost statement they are in', () => {
    const source = 'if a then x = 1 end';
    expect(mutationsOf(source, COUNTS).find(({ kind }) => kind === 'constant off by one')?.statement).toBe(10);
  });

  // To compile all of them takes 20 s. `npm run mutants` compiles each one that it runs.
  it('are Lua that compiles, and unlike each other, for one of sixteen of all scripts', () => {
    for (const [lib, scripts] of LibScripts.read()) {
      const results = new Set<string>();
      const some = scripts.mutants().filter((_, index) => index % 16 === 0);
      for (const mutant of some) {
        const [text] = scripts.textsOf(mutant).values();
        const source = String(text);
        // What runs after the calls of a group comes after their `return`, so both are blocks.
        expect(() => compile(`do ${source.replace(/^-- @finish$/m, 'end do')}\nend`)).not.toThrow();
        results.add(source);
      }
      expect(results.size).toBe(some.length);
      // transport has one script, of one line; those of the console are short.
      if (lib !== 'transport') expect(results.size).toBeGreaterThan(lib === 'console' ? 10 : 12);
    }
  });
});
