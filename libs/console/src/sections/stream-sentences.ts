import type { StreamConsumerService } from 'luanest/stream-consumer';
import type { CONSOLE } from '../../../internal/src';
import type { Address, Sentence } from '../console.types';
import { say } from './sentences';

export type Streams = ReturnType<StreamConsumerService[typeof CONSOLE]>;
export type Stream = NonNullable<Awaited<ReturnType<Streams['open']>>>;
export type Found = Awaited<ReturnType<Stream['find']>>[number];
export type Stats = Awaited<ReturnType<Stream['statsOf']>>[number];

/** A group is behind if the oldest message that it has not settled is older than this time, ms. */
const BEHIND_MS = 60_000;

export const addressOfGroup = (stream: string, group: string): Address => ['streams', 'groups', stream, group];

/**
 * Returns the sums of the numbers of a group over its partitions. Only `oldestMs` is the highest number of a partition (-1 if the group has
 * no message).
 */
export function sumOf(parts: readonly Stats[]): Stats {
  const first = { length: 0, pending: 0, lag: 0, oldestMs: -1, due: 0, parked: 0, dead: 0, sessions: 0 };
  return parts.reduce(
    (sum, part) => ({
      length: sum.length + part.length,
      pending: sum.pending + part.pending,
      lag: sum.lag + part.lag,
      oldestMs: Math.max(sum.oldestMs, part.oldestMs),
      due: sum.due + part.due,
      parked: sum.parked + part.parked,
      dead: sum.dead + part.dead,
      sessions: sum.sessions + part.sessions,
    }),
    first,
  );
}

/**
 * Returns sentences about a group: the main reason why it does not keep up, then how many dead letters it has. If the group has neither
 * problem, one sentence says so.
 *
 * @param listeners lowest number of processes that listen to a partition of the stream; -1 if it is unknown
 */
export function sentencesOfGroup(
  stream: string,
  group: string,
  of: Stats,
  paused: boolean,
  listeners: number,
): Sentence[] {
  const { lag, pending, oldestMs, dead, sessions } = of;
  const open = lag + pending;
  const address = addressOfGroup(stream, group);
  const sentences: Sentence[] = [];
  if (paused) {
    sentences.push(say('stream-group-paused', { group, stream, open }, { action: 'resume', address }));
  } else if (open > 0 && sessions === 0 && listeners === 0) {
    sentences.push(say('stream-no-consumer', { group, stream, open }));
  } else if (oldestMs > BEHIND_MS) {
    sentences.push(say('stream-group-behind', { group, stream, open, oldestMs }));
  }
  if (dead > 0) {
    const list = { list: ['streams', 'dead'], filter: `stream:${stream} group:${group}` };
    sentences.push(say('stream-group-has-dead', { group, stream, dead }, { action: 'replay', ...list }));
  }
  if (sentences.length > 0) return sentences;
  return [say('stream-group-well', { group, stream, open })];
}

/** Returns a sentence that says what a group has done with a message. @param paused true if the group is paused */
export function sentenceOfMessage(stream: string, found: Found, paused: boolean): Sentence {
  const { group, state, consumer, attempts, error, dueAtMs, leaseEndsAtMs, nowMs, dead } = found;
  const address = addressOfGroup(stream, group);
  if (group === '') return say('message-no-group');
  if (state === 'settled') return say('message-settled', { group });
  if (state === 'dead') {
    return say(
      'message-dead',
      { group, attempts, error },
      { action: 'replay', address: ['streams', 'dead', stream, group, dead] },
    );
  }
  if (paused) return say('message-group-paused', { group }, { action: 'resume', address });
  if (state === 'held' && leaseEndsAtMs > nowMs) {
    return say('message-held', { group, consumer, attempts, leaseEndsAtMs });
  }
  if (state === 'held') return say('message-lease-ended', { group, consumer, attempts });
  if (state === 'parked') return say('message-parked', { group, key: consumer });
  if (state === 'waiting' && dueAtMs > nowMs) {
    return say('message-waits-for-retry', { group, attempts, error, dueAtMs, inMs: dueAtMs - nowMs });
  }
  if (state === 'waiting') return say('message-due', { group, attempts });
  if (state === 'unread') return say('message-unread', { group });
  return say('message-gone', { group });
}
