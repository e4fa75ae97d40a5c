import { defineScript, int, str } from 'luanest/script-registry';
import { beginActionLua, endActionLua, listActionsLua, shareSecretLua } from './scripts/generated';

export const beginAction = defineScript({
  name: 'console.begin-action',
  ...beginActionLua,
  keys: ['order', 'entries'],
  args: { token: str, text: str, keep: int, retentionMs: int },
  group: false,
  reply: (atUs: string) => atUs,
});

export const endAction = defineScript({
  name: 'console.end-action',
  ...endActionLua,
  keys: ['order', 'entries'],
  args: { token: str, text: str },
  group: false,
  reply: (written: number) => written === 1,
});

/** An entry of the log of actions, as Redis stores it. */
export interface StoredAction {
  /** Time of the entry, microseconds since 1970. */
  readonly atUs: string;
  readonly begin: string;
  /** Result of the action as JSON; '' if the result was not written yet. */
  readonly end: string;
}

export const listActions = defineScript({
  name: 'console.list-actions',
  ...listActionsLua,
  keys: ['order', 'entries'],
  args: { beforeUs: str, limit: int },
  flags: ['no-writes'],
  group: false,
  reply: (flat: string[]): StoredAction[] =>
    Array.from({ length: flat.length / 3 }, (_, at) => {
      const [atUs = '', begin = '', end = ''] = flat.slice(at * 3);
      return { atUs, begin, end };
    }),
});

export const shareSecret = defineScript({
  name: 'console.share-secret',
  ...shareSecretLua,
  keys: ['secret'],
  args: { proposed: str, retentionMs: int },
  group: false,
  reply: (secret: string) => secret,
});

export const consoleScripts = [beginAction, endAction, listActions, shareSecret];
