import { defineScript, int, str } from 'luanest/script-registry';
import {
  acquireLua,
  forceUnlockLua,
  releaseLua,
  renewLua,
  sharedClockLua,
  sharedFreshLua,
  sharedJudgedLua,
  sharedRecordLua,
  statusLua,
} from './scripts/generated';

const KEYS = ['lock'] as const;
/** A full Redis must still let locks go. */
const RELEASES = ['allow-oom'] as const;
/** Small groups: while Redis runs one, this process writes or reads another. */
const GROUP = { maxCalls: 32 };

export const acquireLock = defineScript({
  name: 'lock.acquire',
  source: acquireLua,
  shared: sharedClockLua + sharedFreshLua,
  keys: KEYS,
  args: { owner: str, leaseMs: int, ttlMs: int, waits: int },
  group: GROUP,
  reply: ([fence, leftMs]: [number, number]) => ({ taken: leftMs === 0, fence, leftMs }),
});

export const renewLock = defineScript({
  name: 'lock.renew',
  source: renewLua,
  shared: sharedClockLua + sharedRecordLua,
  keys: KEYS,
  args: { owner: str, leaseMs: int, ttlMs: int },
  flags: RELEASES,
  reply: ([held, fence]: [number, number]) => ({ held: held === 1, fence }),
});

export const releaseLock = defineScript({
  name: 'lock.release',
  source: releaseLua,
  shared: sharedClockLua + sharedJudgedLua,
  keys: KEYS,
  args: { owner: str },
  flags: RELEASES,
  group: GROUP,
  reply: ([released]: [number]) => released === 1,
});

export const forceUnlock = defineScript({
  name: 'lock.force-unlock',
  source: forceUnlockLua,
  shared: sharedClockLua + sharedRecordLua,
  keys: KEYS,
  args: { retentionMs: int },
  flags: RELEASES,
  reply: ([forced, fence]: [number, number]) => ({ forced: forced === 1, fence }),
});

export const readStatus = defineScript({
  name: 'lock.status',
  source: statusLua,
  shared: sharedClockLua + sharedRecordLua,
  keys: KEYS,
  args: {},
  flags: ['no-writes'],
  reply: ([held, fence, till, owner]: [number, number, number, string]) => ({ held: held === 1, fence, till, owner }),
});

/** Every script of this lib, for registration. */
export const lockScripts = [acquireLock, renewLock, releaseLock, forceUnlock, readStatus];
