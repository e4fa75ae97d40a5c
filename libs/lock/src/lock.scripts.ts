import { defineScript, int, str } from 'luanest/script-registry';
import { acquireLua, forceUnlockLua, releaseLua, renewLua, statusLua } from './scripts/generated';

const KEYS = ['lock'] as const;
/** A full Redis must still let locks go. */
const RELEASES = ['allow-oom'] as const;

export const acquireLock = defineScript({
  name: 'lock.acquire',
  source: acquireLua,
  keys: KEYS,
  args: { owner: str, leaseMs: int, retentionMs: int, waits: int },
  reply: ([taken, fence, leftMs]: [number, number, number]) => ({ taken: taken === 1, fence, leftMs }),
});

export const renewLock = defineScript({
  name: 'lock.renew',
  source: renewLua,
  keys: KEYS,
  args: { owner: str, leaseMs: int, retentionMs: int },
  flags: RELEASES,
  reply: ([held, fence]: [number, number]) => ({ held: held === 1, fence }),
});

export const releaseLock = defineScript({
  name: 'lock.release',
  source: releaseLua,
  keys: KEYS,
  args: { owner: str, retentionMs: int },
  flags: RELEASES,
  reply: (released: number) => released === 1,
});

export const forceUnlock = defineScript({
  name: 'lock.force-unlock',
  source: forceUnlockLua,
  keys: KEYS,
  args: { retentionMs: int },
  flags: RELEASES,
  reply: ([forced, fence]: [number, number]) => ({ forced: forced === 1, fence }),
});

export const readStatus = defineScript({
  name: 'lock.status',
  source: statusLua,
  keys: KEYS,
  args: {},
  flags: ['no-writes'],
  reply: ([held, fence, since, till, owner]: [number, number, number, number, string]) => ({
    held: held === 1,
    fence: Number(fence),
    since,
    till,
    owner,
  }),
});

/** Every script of this lib, for registration. */
export const lockScripts = [acquireLock, renewLock, releaseLock, forceUnlock, readStatus];
