import { defineScript, int, str } from 'luanest/script-registry';
import { FREES_MEMORY, shown } from '../../internal/src';
import type { ConfirmResult } from './once.types';
import {
  claimLua,
  confirmLua,
  endClaimLua,
  firstLua,
  lookLua,
  peekLua,
  releaseLua,
  renewLua,
} from './scripts/generated';

// A process often calls `first`, `claim`, `confirm` and `renew` many times at once. So concurrent calls of these scripts may be sent as one
// command. The other scripts turn this off with `group: false`.

export const firstOnce = defineScript({
  name: 'once.first',
  ...firstLua,
  keys: ['first'],
  args: { token: str, retentionMs: int },
  reply: (first: number) => first === 1,
});

export interface StoredReply {
  readonly status: 'claimed' | 'in-progress' | 'done' | 'abandoned' | 'mismatch';
  /**
   * For `claimed`: the fencing token in 16 digits, then the end of the lease in 13 digits, ms since 1970. For `in-progress`: the time until
   * the lease ends, ms. For `done`: the stored result. Otherwise ''.
   */
  readonly text: string;
}

const STATUS: Readonly<Record<string, StoredReply['status']>> = {
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
  reply: (answer: string): StoredReply => {
    const status = STATUS[answer.charAt(0)];
    if (status === undefined)
      throw new TypeError(
        `The script once.claim replied with the status ${shown(answer.charAt(0))}. Expected c, p, d, a or m. Another version of ` +
          'luanest, or another program, may have written the key of the claim.',
      );
    return { status, text: answer.slice(1) };
  },
});

export function fenceOf({ text }: StoredReply): number {
  return Number(text.slice(0, 16));
}

/** Returns the end of the lease of a claim, ms since 1970 by Redis' clock. */
export function leaseEndsAtOf({ text }: StoredReply): number {
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
  reply: (status: ConfirmResult['status']): ConfirmResult => (status === 'lost' ? LOST : CONFIRMED),
});

export const releaseOnce = defineScript({
  name: 'once.release',
  ...releaseLua,
  keys: ['claim'],
  args: { token: str },
  flags: FREES_MEMORY,
  group: false,
  reply: (status: string) => status as 'released' | 'lost',
});

export interface StoredPeek {
  readonly status: 'unknown' | 'in-progress' | 'done' | 'abandoned';
  /** Fencing token of the claim; 0 if the status is not `in-progress`. */
  readonly fence: number;
  /** End of the lease, ms since 1970; 0 if the status is not `in-progress`. */
  readonly leaseEndsAtMs: number;
  /** When the key expires, ms since 1970; -1 if the key has no TTL, 0 if the id is unknown. */
  readonly expiresAtMs: number;
  readonly result: string;
}

export const peekOnce = defineScript({
  name: 'once.peek',
  ...peekLua,
  keys: ['claim'],
  args: {},
  flags: ['no-writes'],
  group: false,
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

/** Reads the state of an id for `luanest/console`. */
export const lookOnce = defineScript({
  name: 'once.look',
  ...lookLua,
  keys: ['claim'],
  args: {},
  flags: ['no-writes'],
  group: false,
  reply: ([state, delivery, fence, leaseEndsAtMs, expiresAtMs, bytes, nowMs]: [
    ...[string, string, string],
    ...[number, number, number, number],
  ]) => ({
    state: state as 'claimed' | 'done' | 'released' | 'first' | '',
    delivery,
    fence,
    leaseEndsAtMs,
    expiresAtMs,
    bytes,
    nowMs,
  }),
});

/** Ends a claim or forgets an id for `luanest/console`. */
export const endClaim = defineScript({
  name: 'once.end-claim',
  ...endClaimLua,
  keys: ['claim'],
  args: { verb: str, fence: str },
  flags: FREES_MEMORY,
  group: false,
  reply: (status: string) => status as 'ended' | 'changed' | 'unknown',
});

export const onceScripts = [firstOnce, claimOnce, renewOnce, confirmOnce, releaseOnce, peekOnce, lookOnce, endClaim];
