import { defineScript, int, str } from 'luanest/script-registry';
import { claimLua, confirmLua, firstLua, releaseLua, renewLua } from './scripts/generated';

export const firstOnce = defineScript({
  name: 'once.first',
  source: firstLua,
  keys: ['first'],
  args: { token: str, retentionMs: int },
  reply: (first: number) => first === 1,
});

/** What the claim script answers. */
export interface StoredAnswer {
  readonly status: 'claimed' | 'in-progress' | 'done' | 'abandoned' | 'mismatch';
  readonly fence: number;
  readonly leaseUntilMs: number;
  readonly retryAfterMs: number;
  /** JSON, or '' for none. */
  readonly result: string;
}

export const claimOnce = defineScript({
  name: 'once.claim',
  source: claimLua,
  keys: ['claim'],
  args: { token: str, leaseMs: int, retentionMs: int, delivery: str, fingerprint: str },
  reply: ([status, fence, leaseUntilMs, retryAfterMs, result]: [
    StoredAnswer['status'],
    string,
    string,
    number,
    string,
  ]): StoredAnswer => ({
    status,
    fence: Number(fence),
    leaseUntilMs: Number(leaseUntilMs),
    retryAfterMs: Number(retryAfterMs),
    result,
  }),
});

export const renewOnce = defineScript({
  name: 'once.renew',
  source: renewLua,
  keys: ['claim'],
  args: { token: str, leaseMs: int, operation: str },
  reply: ([status, leaseUntilMs]: string[]) => ({
    status: status as 'renewed' | 'lost',
    leaseUntilMs: Number(leaseUntilMs),
  }),
});

export const confirmOnce = defineScript({
  name: 'once.confirm',
  source: confirmLua,
  keys: ['claim'],
  args: { token: str, result: str },
  reply: (status: string) => status as 'confirmed' | 'lost',
});

export const releaseOnce = defineScript({
  name: 'once.release',
  source: releaseLua,
  keys: ['claim'],
  args: { token: str },
  flags: ['allow-oom'],
  reply: (status: string) => status as 'released' | 'lost',
});

/** Every script of this lib, for the registry. */
export const onceScripts = [firstOnce, claimOnce, renewOnce, confirmOnce, releaseOnce];
