import type { StreamConsumerService } from 'luanest/stream-consumer';
import type { CONSOLE } from '../../../internal/src';
import type { Address, Sentence } from '../console.types';

export type Streams = ReturnType<StreamConsumerService[typeof CONSOLE]>;
export type Stream = NonNullable<Awaited<ReturnType<Streams['open']>>>;
export type Found = Awaited<ReturnType<Stream['find']>>[number];
export type Stats = Awaited<ReturnType<Stream['statsOf']>>[number];

/** A group is behind if the oldest message that it has not settled is older than this, ms. */
const BEHIND_MS = 60_000;

export const addressOfGroup = (stream: string, group: string): Address => ['streams', 'groups', stream, group];

/** Returns the sums over the partitions of a group, and the highest `oldestMs` (-1 if the group has no message). */
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
 * Returns sentences about a group: the main reason why it does not keep up, then its dead letters. If it has neither, one sentence
 * says so.
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
    sentences.push({
      code: 'stream-group-paused',
      text: `The group ${group} of ${stream} is paused, so no consumer takes its messages.`,
      level: 'warning',
      values: { group, stream, open },
      fix: { action: 'resume', address },
    });
  } else if (open > 0 && sessions === 0 && listeners === 0) {
    sentences.push({
      code: 'stream-no-consumer',
      text: `No process reads ${stream} for the group ${group}. Start one, or remove the group if nobody needs it.`,
      level: 'error',
      values: { group, stream, open },
    });
  } else if (oldestMs > BEHIND_MS) {
    sentences.push({
      code: 'stream-group-behind',
      text: `The group ${group} of ${stream} is behind: ${open} messages are not settled. Look at the oldest, or add consumers.`,
      level: 'warning',
      values: { group, stream, open, oldestMs },
    });
  }
  if (dead > 0) {
    sentences.push({
      code: 'stream-group-has-dead',
      text: `The group ${group} of ${stream} has ${dead} dead letters.`,
      level: 'warning',
      values: { group, stream, dead },
    });
  }
  if (sentences.length > 0) return sentences;
  return [
    {
      code: 'stream-group-well',
      text: `The group ${group} of ${stream} is up to date: ${open} messages are not settled yet.`,
      level: 'ok',
      values: { group, stream, open },
    },
  ];
}

/** Returns a sentence that says what a group has done with a message. @param paused true if the group is paused */
export function sentenceOfMessage(stream: string, found: Found, paused: boolean): Sentence {
  const { group, state, consumer, attempts, error, dueAtMs, leaseEndsAtMs, nowMs, dead } = found;
  const address = addressOfGroup(stream, group);
  if (group === '') {
    return { code: 'message-no-group', text: 'No group reads the stream, so the message stays.', level: 'info' };
  }
  if (state === 'settled') {
    return {
      code: 'message-settled',
      text: `The group ${group} has settled the message.`,
      level: 'ok',
      values: { group },
    };
  }
  if (state === 'dead') {
    return {
      code: 'message-dead',
      text: `The message is a dead letter of the group ${group} after ${attempts} attempts: ${error}`,
      level: 'error',
      values: { group, attempts, error },
      fix: { action: 'replay', address: ['streams', 'dead', stream, group, dead] },
    };
  }
  if (paused) {
    return {
      code: 'message-group-paused',
      text: `The group ${group} has not settled the message, and is paused.`,
      level: 'warning',
      values: { group },
      fix: { action: 'resume', address },
    };
  }
  if (state === 'held' && leaseEndsAtMs > nowMs) {
    return {
      code: 'message-held',
      text: `The consumer ${consumer} works on the message for the group ${group}.`,
      level: 'info',
      values: { group, consumer, attempts, leaseEndsAtMs },
    };
  }
  if (state === 'held') {
    return {
      code: 'message-lease-ended',
      text: `The consumer ${consumer} has died or stood still: its lease has ended, and the next consumer takes the message over.`,
      level: 'warning',
      values: { group, consumer, attempts },
    };
  }
  if (state === 'parked') {
    return {
      code: 'message-parked',
      text: `The message waits for an earlier message with the key ${consumer} in the group ${group}.`,
      level: 'info',
      values: { group, key: consumer },
    };
  }
  if (state === 'waiting' && dueAtMs > nowMs) {
    return {
      code: 'message-waits-for-retry',
      text: `Attempt ${attempts} of the group ${group} failed, and the next one is not due yet: ${error}`,
      level: 'warning',
      values: { group, attempts, error, dueAtMs, inMs: dueAtMs - nowMs },
    };
  }
  if (state === 'waiting') {
    return {
      code: 'message-due',
      text: `The message waits for a consumer of the group ${group}.`,
      level: 'info',
      values: { group, attempts },
    };
  }
  if (state === 'unread') {
    return {
      code: 'message-unread',
      text: `The group ${group} has not read the message yet.`,
      level: 'info',
      values: { group },
    };
  }
  return {
    code: 'message-gone',
    text: `The stream does not have the message any more, and the group ${group} has no dead letter of it: it was settled, or never added.`,
    level: 'info',
    values: { group },
  };
}
