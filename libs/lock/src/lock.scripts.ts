import { defineScript, int, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../internal/src';
import {
  acquireLua,
  forceUnlockLua,
  leaveLua,
  lookLua,
  releaseLua,
  renewLua,
  statusLua,
  waitLua,
} from './scripts/generated';

const KEYS = ['lock'] as const;
const WITH_QUEUE = ['lock', 'queue'] as const;
/**
 * Sends at most 32 calls together as one command. While Redis runs them, this process prepares the next ones or reads the last replies.
 * See DECISIONS.md: groups-of-32-locks
 */
const GROUP = { maxCalls: 32 };

export const acquireLock = defineScript({
  name: 'lock.acquire',
  ...acquireLua,
  keys: KEYS,
  args: { owner: str, leaseMs: int, ttlMs: int },
  group: GROUP,
  reply: ([fence, leftMs]: [number, number]) => ({ fence, leftMs }),
});

export const waitForLock = defineScript({
  name: 'lock.wait',
  ...waitLua,
  keys: WITH_QUEUE,
  args: { owner: str, leaseMs: int, ttlMs: int, ticket: str, countsMs: int, turnMs: int },
  group: false,
  reply: ([fence, leftMs, ahead]: [number, number, number]) => ({ fence, leftMs, ahead }),
});

export const leaveQueue = defineScript({
  name: 'lock.leave',
  ...leaveLua,
  keys: WITH_QUEUE,
  args: { ticket: str },
  flags: FREES_MEMORY,
  group: false,
  reply: ([left]: [number]) => left === 1,
});

export const renewLock = defineScript({
  name: 'lock.renew',
  ...renewLua,
  keys: KEYS,
  args: { owner: str, leaseMs: int, ttlMs: int },
  flags: FREES_MEMORY,
  reply: (held: number) => held === 1,
});

export const releaseLock = defineScript({
  name: 'lock.release',
  ...releaseLua,
  keys: KEYS,
  args: { owner: str },
  flags: FREES_MEMORY,
  group: GROUP,
  // If the call was sent twice, the first copy may have released the lock, and another owner may have acquired it before the second copy.
  reply: (released: number, resent): 'released' | 'lost' | 'unknown' =>
    released === 1 ? 'released' : resent ? 'unknown' : 'lost',
});

export const forceUnlock = defineScript({
  name: 'lock.force-unlock',
  ...forceUnlockLua,
  keys: KEYS,
  args: { retentionMs: int, expected: int },
  flags: FREES_MEMORY,
  group: false,
  reply: ([forced, fence]: [number, number], resent) => ({ forced: forced === 1, fence, resent }),
});

export const readStatus = defineScript({
  name: 'lock.status',
  ...statusLua,
  keys: KEYS,
  args: {},
  flags: ['no-writes'],
  group: false,
  reply: ([held, fence, leaseEndsAtMs, owner]: [number, number, number, string]) => ({
    held: held === 1,
    fence,
    leaseEndsAtMs,
    owner,
  }),
});

export const lookAtLock = defineScript({
  name: 'lock.look',
  ...lookLua,
  keys: WITH_QUEUE,
  args: {},
  flags: ['no-writes'],
  group: false,
  reply: ([held, fence, leaseEndsAtMs, owner, waiters, since]: [number, number, number, string, number, number]) => ({
    ...{ held: held === 1, fence, leaseEndsAtMs, owner, waiters },
    waitingSinceMs: Math.floor(since / 1_000),
  }),
});

export const lockScripts = [
  ...[acquireLock, waitForLock, leaveQueue, renewLock, releaseLock],
  ...[forceUnlock, readStatus, lookAtLock],
];
