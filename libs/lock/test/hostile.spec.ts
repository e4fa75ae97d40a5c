import { LuanestError } from 'luanest/script-registry';
import { LockBusyError } from 'luanest/lock';
import { HOSTILE_IDS, hostileValues, IMPOSSIBLE_IDS, isPolluted } from '../../../test/support/hostile';
import { resolveOptions } from '../src/lock.options';
import { openBench, servers } from './support';

describe.each(servers)('locks that strangers name, on %s', (_name, connect) => {
  it('are held each by itself, all at once, and reported one by one', async () => {
    const bench = await openBench(connect());
    try {
      const held = await Promise.all(HOSTILE_IDS.map((name) => bench.locks.tryAcquire(name)));
      expect(held.map((lock) => lock?.names)).toEqual(HOSTILE_IDS.map((name) => [name]));
      const again = await Promise.all(HOSTILE_IDS.map((name) => bench.locks.tryAcquire(name)));
      expect(again.filter((lock) => lock !== undefined)).toEqual([]);
      const fences = await Promise.all(HOSTILE_IDS.map((name) => bench.locks.status(name)));
      expect(fences.map((status) => status.held && status.fence)).toEqual(held.map((lock) => lock?.fence));
      expect(await Promise.all(held.map(async (lock) => lock?.release()))).toEqual(HOSTILE_IDS.map(() => 'released'));
    } finally {
      bench.close();
    }
  });

  it('are refused where no key can hold them, and named in one line where they are busy', async () => {
    const bench = await openBench(connect());
    try {
      for (const name of [...IMPOSSIBLE_IDS, ...hostileValues().filter((value) => !Array.isArray(value))] as string[]) {
        if (typeof name === 'object' && name !== null) continue;
        await expect(bench.locks.tryAcquire([name])).rejects.toThrow(
          expect.objectContaining({ code: 'INVALID_KEY' }) as Error,
        );
      }
      await expect(bench.locks.acquire(['valid', 'x'.repeat(1_025)])).rejects.toThrow(
        expect.objectContaining({ code: 'INVALID_KEY' }) as Error,
      );
      expect(await bench.locks.status('valid')).toEqual({ held: false, fence: 0 });
      const name = 'a\r\nFATAL: all is lost';
      const lock = await bench.locks.acquire(name);
      const busy = await bench.locks.acquire(name, { waitMs: 1 }).catch((error: unknown) => error as Error);
      expect(busy).toBeInstanceOf(LockBusyError);
      expect((busy as Error).message).toMatch(/^Lock a FATAL: all is lost was not free within \d+ ms \(waitMs\)/);
      await lock.release();
    } finally {
      bench.close();
    }
  });
});

it('options of any kind are taken or refused by name, and change no other object', () => {
  for (const option of Object.keys(resolveOptions({}))) {
    for (const value of hostileValues()) {
      try {
        resolveOptions({ [option]: value });
      } catch (error) {
        expect(error).toBeInstanceOf(LuanestError);
      }
    }
  }
  expect(() => resolveOptions({ node: 'a\ud800' })).toThrow(/^LockModule: node is /);
  expect(() => resolveOptions(JSON.parse('{"__proto__":{"polluted":true,"leaseMs":1}}') as object)).toThrow(
    /__proto__/,
  );
  expect(isPolluted()).toBe(false);
});
