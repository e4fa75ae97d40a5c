import { ClosedError } from 'luanest/script-registry';
import { LockService, type Lock } from 'luanest/lock';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { pending, stateOf } from '../../../test/support/replies';
import { draining } from '../../internal/src';
import { resolveOptions } from '../src/lock.options';
import { TAKEN } from './acquirer-support';

describe('a shutdown while other modules drain', () => {
  const time = new ManualTime();

  function open() {
    const registry = new FakeRegistry();
    const locks = new LockService(registry.asRegistry, resolveOptions({ drainMs: 100, abortGraceMs: 50 }));
    const acquire = (name: string): Promise<Lock> => {
      const acquiring = locks.acquire(name);
      registry.last.reply.resolve(TAKEN);
      return acquiring;
    };
    return { registry, locks, acquire };
  }

  it('leaves locks alone, also after drainMs, and grants more: handlers may need them', async () => {
    const { registry, locks, acquire } = open();
    const drain = pending<void>();
    void draining(drain.promise);
    const held = await acquire('held');
    const closed = locks.beforeApplicationShutdown();
    await time.pass(5_000);
    const more = await acquire('more');
    expect([held.signal.aborted, more.signal.aborted, await stateOf(closed)]).toEqual([false, false, 'pending']);
    drain.resolve();
    await turn();
    expect([held.signal.aborted, more.signal.aborted]).toEqual([true, true]);
    await expect(locks.acquire('late')).rejects.toBeInstanceOf(ClosedError);
    for (const lock of [held, more]) {
      const releasing = lock.release();
      registry.last.reply.resolve('released');
      await releasing;
    }
    await closed;
  });
});
