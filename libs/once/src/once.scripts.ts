import { defineScript, int, str } from 'luanest/script-registry';
import type { ConfirmAnswer } from './once.types';
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
  /** Digits. */
  readonly fence: string;
  /** Digits. */
  readonly leaseUntilMs: string;
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
  ]): StoredAnswer => ({ status, fence, leaseUntilMs, retryAfterMs, result }),
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

const CONFIRMED = Object.freeze({ status: 'confirmed' });
const LOST = Object.freeze({ status: 'lost' });

export const confirmOnce = defineScript({
  name: 'once.confirm',
  source: confirmLua,
  keys: ['claim'],
  args: { token: str, result: str },
  reply: (status: ConfirmAnswer['status']): ConfirmAnswer => (status === 'lost' ? LOST : CONFIRMED),
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
