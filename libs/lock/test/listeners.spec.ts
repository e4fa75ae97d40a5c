import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { processWarnings } from '../../../test/support/process-warnings';
import { standaloneClient } from '../../script-registry/test/support';
import { openBench } from './support';

it('50 waiters with one signal, and 50 listeners on the signal of a lock, cause no warning of Node and leave no listener', async () => {
  const warnings = processWarnings();
  const bench = await openBench(standaloneClient());
  const { signal } = new AbortController();
  const held = await bench.locks.acquire('busy');
  const several = await bench.locks.acquire(['a', 'b']);
  const waiters = Array.from({ length: 50 }, () => bench.locks.withLock('busy', { signal }, () => 1));
  expect(getEventListeners(signal, 'abort')).toHaveLength(50);
  for (const lock of [held, several]) {
    await Promise.all(Array.from({ length: 50 }, () => sleep(1, undefined, { signal: lock.signal })));
    expect(getEventListeners(lock.signal, 'abort')).toEqual([]);
  }
  await held.release();
  expect(await Promise.all(waiters)).toHaveLength(50);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  await warnings.stop();
  expect(warnings.texts).toEqual([]);
  bench.close();
});
