import type { ActivityStatus, AuditResult } from 'luanest/red-packet';
import type { Sentence } from '../console.types';
import { say } from './sentences';

const addressOf = (activity: string) => ['red-packets', 'activities', activity];

export function stateSentence({ activityId: activity, state }: Pick<ActivityStatus, 'activityId' | 'state'>): Sentence {
  const values = { activity, state };
  return say('activity-state', values);
}

/** Returns a sentence that says if the money of an activity adds up. If not, the sentence has the first problem. */
export function auditSentence(activity: string, { ok, problems }: AuditResult): Sentence {
  if (ok) return say('books-add-up', { activity });
  const [problem = ''] = problems;
  return say('books-do-not-add-up', { activity, problems: problems.length, problem });
}

/** Returns sentences about open payouts, and about problems that an operator must solve. The most urgent problem comes first. */
export function activitySentences(status: ActivityStatus): Sentence[] {
  const { activityId: activity, deadLetters, openPayouts, unreportedPackets, overdue, settled, state } = status;
  const sentences: Sentence[] = [];
  if (deadLetters > 0) {
    sentences.push(say('payouts-dead', { activity, deadLetters }, { action: 'replay', address: addressOf(activity) }));
  }
  if (overdue && !settled && (openPayouts > 0 || unreportedPackets > 0)) {
    sentences.push(say('activity-owes', { activity, openPayouts, unreportedPackets }));
  } else if (openPayouts > 0) {
    sentences.push(say('payouts-open', { activity, openPayouts }));
  }
  if (state === 'paused') {
    sentences.push(say('activity-paused', { activity }, { action: 'resume', address: addressOf(activity) }));
  }
  return sentences;
}
