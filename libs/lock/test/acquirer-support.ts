import { Acquirer } from '../src/locks/acquirer';
import { resolveAcquire, resolveOptions, type LockModuleOptions, type LockOptions } from '../src/lock.options';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { turn } from '../../../test/support/manual-time';

/** An Acquirer whose calls of Redis the test answers. */
export function openAcquirer({ deadlineMs = 500, ...options }: LockModuleOptions & { deadlineMs?: number } = {}) {
  const registry = new FakeRegistry();
  const resolved = {
    ...resolveOptions({ node: 'me', leaseMs: 3_000, waitMs: 0, ...options }),
    ...{ fenceRetentionMs: 5_000, pollMs: 10_000, deadlineMs },
  };
  const acquirer = new Acquirer(registry.asRegistry, resolved);
  const acquire = (name = 'a', call: LockOptions = {}, until?: number) => {
    const acquiring = acquirer.acquire(name, resolveAcquire(call, resolved), until);
    // A test may look at the error later than it is thrown.
    acquiring.catch(() => undefined);
    return acquiring;
  };
  const answer = async (reply: unknown): Promise<void> => {
    registry.last.reply.resolve(reply);
    await turn();
  };
  const fail = async (error: unknown): Promise<void> => {
    registry.last.reply.reject(error);
    await turn();
  };
  return { registry, acquirer, acquire, answer, fail };
}

export const TAKEN = { fence: 7, leftMs: 0, ahead: 0 };
export const BUSY = { fence: 7, leftMs: 60_000, ahead: 0 };
