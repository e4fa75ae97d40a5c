import { defaultMaxListeners, getEventListeners, getMaxListeners, setMaxListeners } from 'node:events';
import { Cancellation } from '../src/locks/wait-queue';
import type { LockLease } from '../src/locks/held-lock';
import { pending, stateOf } from '../../../test/support/replies';

const reason = new Error('the caller left');

describe('the cancellation of an acquisition', () => {
  it('calls each listener once, also one that comes later', () => {
    const cancellation = new Cancellation();
    const calls: string[] = [];
    cancellation.onCancel(() => calls.push('a'));
    expect([cancellation.cancelled, calls]).toEqual([false, []]);
    cancellation.cancel(reason);
    cancellation.cancel(new Error('later'));
    expect([cancellation.cancelled, calls]).toEqual([true, ['a']]);
    cancellation.onCancel(() => calls.push('b'));
    expect(calls).toEqual(['a', 'b']);
    cancellation.close();
  });

  it('throws its first error without waiting for the acquisition, and releases a lease that comes later', async () => {
    const cancellation = new Cancellation();
    const acquiring = pending<LockLease | undefined>();
    const raced = cancellation.race(acquiring.promise);
    expect(await stateOf(raced)).toBe('pending');
    cancellation.cancel(reason);
    cancellation.cancel(new Error('later'));
    expect(await stateOf(raced)).toBe(reason);
    let released = 0;
    acquiring.resolve({ release: () => Promise.reject(new Error(`release ${++released}`)) } as never);
    await stateOf(acquiring.promise);
    expect(released).toBe(1);
  });

  it('lets an acquisition end later without a lease', async () => {
    const rejected: unknown[] = [];
    const onRejection = (error: unknown): unknown => rejected.push(error);
    process.on('unhandledRejection', onRejection);
    const cancellation = new Cancellation();
    cancellation.cancel(reason);
    expect(await stateOf(cancellation.race(Promise.resolve(undefined)))).toBe(reason);
    await new Promise((resolve) => void setImmediate(resolve));
    process.off('unhandledRejection', onRejection);
    expect(rejected).toEqual([]);
  });

  it('returns what the acquisition returns or throws before', async () => {
    const cancellation = new Cancellation();
    const lease = { release: () => Promise.reject(new Error('not now')) } as unknown as LockLease;
    expect(await cancellation.race(Promise.resolve(lease))).toBe(lease);
    expect(await stateOf(cancellation.race(Promise.reject(reason)))).toBe(reason);
    cancellation.cancel(new Error('later'));
  });

  it('follows the signal of the caller until it is closed', async () => {
    const controller = new AbortController();
    const [cancellation, closed] = [new Cancellation(controller.signal), new Cancellation(controller.signal)];
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(2);
    closed.close();
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    const raced = cancellation.race(new Promise(() => undefined));
    controller.abort(reason);
    expect([cancellation.cancelled, closed.cancelled]).toEqual([true, false]);
    expect(await stateOf(raced)).toBe(reason);
  });

  it('lets many acquisitions share a signal, but keeps a limit that the caller has set', () => {
    const [many, few, none] = [new AbortController(), new AbortController(), new AbortController()];
    expect(getMaxListeners(many.signal)).toBe(defaultMaxListeners);
    setMaxListeners(5, few.signal);
    setMaxListeners(0, none.signal);
    for (const { signal } of [many, few, none]) new Cancellation(signal);
    expect([many, few].map(({ signal }) => getMaxListeners(signal))).toEqual([Infinity, 5]);
    none.abort();
  });

  it('accepts a signal without a limit of listeners, such as that of a lock, and one that is not of Node', () => {
    const controller = new AbortController();
    setMaxListeners(0, controller.signal);
    const cancellation = new Cancellation(controller.signal);
    controller.abort(reason);
    expect(cancellation.cancelled).toBe(true);
    const listeners: (() => void)[] = [];
    const signal = { aborted: false, addEventListener: (_: string, listener: () => void) => listeners.push(listener) };
    const other = new Cancellation(signal as never);
    for (const listener of listeners) listener();
    expect(other.cancelled).toBe(true);
  });
});
