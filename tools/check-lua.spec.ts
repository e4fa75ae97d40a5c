import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { checkLua } from './check-lua.mjs';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'luanest-check-lua-'));
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

/** Writes scripts of a lib and returns the warnings. */
function check(files: Record<string, string>): string[] {
  for (const [name, text] of Object.entries(files)) {
    const path = join(root, 'libs', 'lock', 'src', 'scripts', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return checkLua(root, join(__dirname, '..', '.luacheckrc'));
}

const FOLDER = 'libs/lock/src/scripts';
const CLOCK = "-- The clock.\nlocal time = redis.call('TIME')\nlocal now_ms, now_us = time[1] * 1000, time[2]\n";

describe('tools/check-lua.mjs', () => {
  it('checks a script with what it includes', () => {
    expect(check({ 'take.lua': '-- @include clock\nreturn now_ms + now_us\n', 'shared/clock.lua': CLOCK })).toEqual([]);
  });

  it('reports what a script uses of a part that it does not include', () => {
    const files = { 'take.lua': 'return now_ms\n', 'wait.lua': '-- @include clock\nreturn now_us + now_ms\n' };
    expect(check({ ...files, 'shared/clock.lua': CLOCK })).toEqual([
      `${FOLDER}/take.lua:1:8: (W113) accessing undefined variable 'now_ms'`,
    ]);
  });

  it('reports what no script uses of a part, once, and leaves what one of them uses', () => {
    const script = '-- @include clock\nreturn now_ms\n';
    const files = { 'take.lua': script, 'wait.lua': script, 'shared/clock.lua': CLOCK };
    expect(check(files)).toEqual([`${FOLDER}/shared/clock.lua:3:15: (W211) unused variable 'now_us'`]);
    expect(check({ ...files, 'leave.lua': '-- @include clock\nreturn now_us\n' })).toEqual([]);
  });

  it('reports syntax errors, and locals of a call in what finishes its group', () => {
    expect(check({ 'take.lua': 'local x =\n' })).toEqual([expect.stringMatching(/take\.lua:\d+:\d+: \(E011\)/)]);
    const finish = { 'take.lua': '-- @finish report\nlocal x = 1\nreturn x\n', 'shared/report.lua': 'return x\n' };
    expect(check(finish)).toEqual([`${FOLDER}/shared/report.lua:1:8: (W113) accessing undefined variable 'x'`]);
  });
});
