import { MemoryRedis } from '../src';
import { timeLimit } from '../src/lua/time-limit';

const { ms } = timeLimit;
beforeEach(() => (timeLimit.ms = 100));
afterAll(() => (timeLimit.ms = ms));

it('gives scripts 5 s', () => expect(ms).toBe(5_000));

it.each<[source: string, line: number | string]>([
  ['while true do end', 1],
  ['\nrepeat\nuntil false', 2],
  ['local n = 0\nfor i = 1, 1/0 do\n  n = n + 1\nend', 2],
  ['\n\nfor i = 1, 0, 0 do end while true do end', 3],
  ['local function f()\n  return f\nend\nlocal g = f\nwhile true do g = g() end', 5],
  ['for word in function() return 1 end do end', 1],
  // Both lines are in the loop.
  ["while true do\n  redis.call('INCR', KEYS[1])\nend", '[12]'],
  ['while true do\n  pcall(function() while true do end end)\nend', 1],
  ['local t = {}\nwhile true do if #t > 0 then break end end', 2],
])('stops a script that never ends, and names its line: %j', (source, line) => {
  const redis = new MemoryRedis();
  expect(() => redis.run('EVAL', [source, 1, 'k'])).toThrow(
    new RegExp(
      `^ERR user_script:${line}: MemoryRedis has stopped this script, which had run for 0\\.1 s\\. Look for a loop that never ends script: [0-9a-f]{40}, on @user_script:${line}\\.$`,
    ),
  );
  // The next script has all its time, and looks at the time once. A busy machine may take 100 ms for it.
  timeLimit.ms = ms;
  expect(redis.run('EVAL', ['local n = 0 for i = 1, 50001 do n = n + 1 end return n', 0])).toBe(50_001);
});

it('stops a loop in code of loadstring', () => {
  expect(() => new MemoryRedis().run('EVAL', ["loadstring('while true do end')()", 0])).toThrow(
    'has stopped this script',
  );
});
