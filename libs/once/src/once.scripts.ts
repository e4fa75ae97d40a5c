import { defineScript, int, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../internal/src';
import type { ConfirmAnswer } from './once.types';
import { claimLua, confirmLua, firstLua, peekLua, releaseLua, renewLua } from './scripts/generated';

export const firstOnce = defineScript({
  name: 'once.first',
  ...firstLua,
  keys: ['first'],
  args: { token: str, retentionMs: int },
  reply: (first: number) => first === 1,
});

/** What the claim script answers. */
export interface StoredAnswer {
  readonly status: 'claimed' | 'in-progress' | 'done' | 'abandoned' | 'mismatch';
  /** Of a claim: its fence and then the end of its lease, 16 and 13 digits. Of one in progress: how long, ms. Else the result. */
  readonly text: string;
}

const STATUS: Readonly<Record<string, StoredAnswer['status']>> = {
  c: 'claimed',
  p: 'in-progress',
  d: 'done',
  a: 'abandoned',
  m: 'mismatch',
};

export const claimOnce = defineScript({
  name: 'once.claim',
  ...claimLua,
  keys: ['claim'],
  args: { token: str, leaseMs: int, retentionMs: int, delivery: str, fingerprint: str },
  reply: (answer: string): StoredAnswer => {
    const status = STATUS[answer.charAt(0)];
    if (status === undefined) throw new TypeError(`${answer} is no answer to a claim.`);
    return { status, text: answer.slice(1) };
  },
});

/** The fence of a claim. */
export function fenceOf({ text }: StoredAnswer): number {
  return Number(text.slice(0, 16));
}

/** When the lease of a claim ends, ms since the epoch. */
export function leaseEndsAtOf({ text }: StoredAnswer): number {
  return Number(text.slice(16));
}

export const renewOnce = defineScript({
  name: 'once.renew',
  ...renewLua,
  keys: ['claim'],
  args: { token: str, leaseMs: int, operation: str },
  reply: ([status, leaseEndsAtMs]: string[]) => ({
    status: status as 'renewed' | 'lost',
    leaseEndsAtMs: Number(leaseEndsAtMs),
  }),
});

const CONFIRMED = Object.freeze({ status: 'confirmed' });
const LOST = Object.freeze({ status: 'lost' });

export const confirmOnce = defineScript({
  name: 'once.confirm',
  ...confirmLua,
  keys: ['claim'],
  args: { token: str, result: str },
  reply: (status: ConfirmAnswer['status']): ConfirmAnswer => (status === 'lost' ? LOST : CONFIRMED),
});

export const releaseOnce = defineScript({
  name: 'once.release',
  ...releaseLua,
  keys: ['claim'],
  args: { token: str },
  flags: FREES_MEMORY,
  reply: (status: string) => status as 'released' | 'lost',
});

/** What the peek script reads. */
export interface StoredPeek {
  readonly status: 'unknown' | 'in-progress' | 'done' | 'abandoned';
  readonly fence: number;
  readonly leaseEndsAtMs: number;
  /** -1 where the key has no TTL. */
  readonly expiresAtMs: number;
  readonly result: string;
}

export const peekOnce = defineScript({
  name: 'once.peek',
  ...peekLua,
  keys: ['claim'],
  args: {},
  flags: ['no-writes'],
  reply: ([status, fence, leaseEndsAtMs, expiresAtMs, result]: [
    string,
    string,
    string,
    number,
    string,
  ]): StoredPeek => ({
    status: status as StoredPeek['status'],
    fence: Number(fence),
    leaseEndsAtMs: Number(leaseEndsAtMs),
    expiresAtMs,
    result,
  }),
});

/** Every script of this lib, for the registry. */
export const onceScripts = [firstOnce, claimOnce, renewOnce, confirmOnce, releaseOnce, peekOnce];
