import type { ActivityStatus, AuditResult } from 'luanest/red-packet';
import type { Sentence } from '../console.types';

const addressOf = (activity: string) => ['red-packets', 'activities', activity];

export function stateSentence({ activityId: activity, state }: Pick<ActivityStatus, 'activityId' | 'state'>): Sentence {
  const values = { activity, state };
  return { code: 'activity-state', text: `The activity ${activity} is ${state}.`, level: 'info', values };
}

/** Returns a sentence that says if the money of an activity adds up. If not, the sentence has the first problem. */
export function auditSentence(activity: string, { ok, problems }: AuditResult): Sentence {
  if (ok) {
    const text = `The books of ${activity} add up to the cent.`;
    return { code: 'books-add-up', text, level: 'ok', values: { activity } };
  }
  const [problem = ''] = problems;
  return {
    code: 'books-do-not-add-up',
    text: `The books of ${activity} do not add up: ${problem}.`,
    level: 'error',
    values: { activity, problems: problems.length, problem },
  };
}

/** Returns sentences about open payouts, and about problems that an operator must solve. The most urgent problem comes first. */
export function activitySentences(status: ActivityStatus): Sentence[] {
  const { activityId: activity, deadLetters, openPayouts, unreportedPackets, overdue, settled, state } = status;
  const sentences: Sentence[] = [];
  if (deadLetters > 0) {
    sentences.push({
      code: 'payouts-dead',
      text: `${deadLetters} payouts of ${activity} are dead-lettered: nobody pays them until you replay them.`,
      level: 'error',
      values: { activity, deadLetters },
      fix: { action: 'replay', address: addressOf(activity) },
    });
  }
  if (overdue && !settled && (openPayouts > 0 || unreportedPackets > 0)) {
    sentences.push({
      code: 'activity-owes',
      text: `The retention of ${activity} is over, but it still owes ${openPayouts} payouts and ${unreportedPackets} reports of refunds.`,
      level: 'warning',
      values: { activity, openPayouts, unreportedPackets },
    });
  } else if (openPayouts > 0) {
    sentences.push({
      code: 'payouts-open',
      text: `${openPayouts} payouts of ${activity} are open.`,
      level: 'info',
      values: { activity, openPayouts },
    });
  }
  if (state === 'paused') {
    sentences.push({
      code: 'activity-paused',
      text: `The activity ${activity} is paused: nobody can grab until it is resumed.`,
      level: 'warning',
      values: { activity },
      fix: { action: 'resume', address: addressOf(activity) },
    });
  }
  return sentences;
}
