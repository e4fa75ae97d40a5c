import type { Sentence } from '../console.types';

type Values = NonNullable<Sentence['values']>;

/** The sentences of all sections, by code. `{name}` is one of the values of the sentence. The page has them in Chinese. */
const ERRORS = {
  'books-do-not-add-up': 'The books of {activity} do not add up: {problem}.',
  'job-died':
    '{node} began a run of {name} and has not ended it: the process died, or its lease ended before the job did.',
  'job-failed': 'The last run of {name}, on {node}, failed. The log of {node} has the error.',
  'job-lost': 'The last run of {name}, on {node}, lost its lock before it ended.',
  'job-not-run': 'The job {name} did not run: {status}.',
  'job-redis-error': 'The last tick of {name}, on {node}, could not claim its run, because Redis failed.',
  'job-run-failed': 'The job {name} ran, and failed: {error}.',
  'lock-needs-fence':
    'A lock is released only from the holder that you saw. Give the fence of that holder as `expected`.',
  'message-dead': 'The message is a dead letter of the group {group} after {attempts} attempts: {error}',
  'no-worker': 'No process works on the queue {queue}. Start one with a handler, or set work to true.',
  'once-needs-fence': 'A claim is ended only if it is the one that you saw. Give its fence as `expected`.',
  'outbox-failed': '{failed} rows of the outbox were refused and set aside.',
  'outbox-undecided': 'Nobody knows whether {undecided} rows of the outbox took effect. They were set aside.',
  'payouts-dead': '{deadLetters} payouts of {activity} are dead-lettered: nobody pays them until you replay them.',
  'registry-unhealthy': 'The registry is not healthy: {problem}',
  'row-failed': 'The row was refused: {error}',
  'row-undecided': 'Nobody knows whether the row took effect.',
  'server-cannot-save':
    'The server {server} could not write to its disk. Look at its log and at the space of the disk.',
  'server-memory-full':
    'The memory of the server {server} is almost full. Give it more, or remove data: when it is full, calls that add something fail.',
  'server-not-connected':
    'The server {server} is not connected. Check that it runs, and that this process can reach it.',
  'stream-no-consumer':
    'No process reads {stream} for the group {group}. Start one, or remove the group if nobody needs it.',
  'subject-blocked': '{subject} is blocked by the rule {rule}.',
  'task-dead': 'The task is a dead letter after {attemptsMade} of {attempts} attempts: {error}',
  'task-no-worker': 'The task is due, but no process works on the queue {queue}.',
} as const;

const WARNINGS = {
  'activity-changed': 'The activity is {state} now, no longer {expected}. Nothing was changed.',
  'activity-close-what-for': 'Nobody can open it again. {packets} packets that nobody has won are refunded.',
  'activity-owes':
    'The retention of {activity} is over, but it still owes {openPayouts} payouts and {unreportedPackets} reports of refunds.',
  'activity-paused': 'The activity {activity} is paused: nobody can grab until it is resumed.',
  'dead-letter-gone': 'The dead letter {id} is not there any more.',
  'grant-expired':
    'The period of the grant is over, so it can no longer be taken back here. Take the points back in your own accounts.',
  'grant-unknown': 'The period of the user has no such grant.',
  'group-paused': 'The group {group} is paused: none of its tasks is taken.',
  'groups-paused': 'Groups of the queue {queue} are paused: {groups}.',
  'job-locked': 'The job {name} did not run, because its lock is held.',
  'lock-changed': 'The holder that you saw no longer has the lock. Nothing was changed.',
  'lock-release-unknown':
    'The call was sent twice, because its first reply was lost. Most probably the first one released the lock.',
  'lock-release-what-for':
    '{node} still believes that it has the lock until its next renewal. Release it only if {node} no longer works on it.',
  'lock-waited-for': '{node} holds the lock {name}, and {waiters} processes wait for it.',
  'message-group-paused': 'The group {group} has not settled the message, and is paused.',
  'message-lease-ended':
    'The consumer {consumer} has died or stood still: its lease has ended, and the next consumer takes the message over.',
  'message-waits-for-retry': 'Attempt {attempts} of the group {group} failed, and the next one is not due yet: {error}',
  'once-abandoned':
    'Its owner died or stood still, and at most one run is allowed, so it does not run again. Look if the work was done, and forget it if not.',
  'once-changed': '{name} is not as you saw it any more. Nothing was changed.',
  'once-forget-what-for': 'The stored result is deleted, and the next caller does the work again.',
  'once-release-what-for':
    'The owner may still work, and the next caller may do the work at the same time. Release only if the owner is gone.',
  'outbox-late':
    'The oldest of {waiting} waiting rows is too old. Look whether a process runs the relay, and whether Redis takes what it sends.',
  'queue-behind':
    'The queue {queue} is behind: {overdue} tasks are due, and {running} run. Add processes, or raise concurrency.',
  'queue-has-dead': 'The queue {queue} has {dead} dead letters.',
  'queue-item-changed': '{id} is not as you saw it any more. Nothing was changed.',
  'queue-item-gone': 'Nothing has the id {id} any more.',
  'queue-paused': 'The queue {queue} is paused, so no process takes its tasks.',
  'row-may-act-twice':
    'Nobody knows whether an undecided row took effect. Look first whether it has: after a retry it may do so a second time.',
  'schedule-late': 'The slot of the schedule is over, and no worker of the queue {queue} has taken it.',
  'server-clock-differs':
    'The clock of the server {server} differs from that of this process by {differenceMs} ms. Synchronize both with NTP.',
  'server-evicts':
    'The server {server} removes keys when its memory is full ({policy}). Set maxmemory-policy to noeviction, or tasks, locks and claims can be lost.',
  'server-replica-behind': 'The replica {server} has no connection to its master, so it falls behind.',
  'stream-group-behind':
    'The group {group} of {stream} is behind: {open} messages are not settled. Look at the oldest, or add consumers.',
  'stream-group-has-dead': 'The group {group} of {stream} has {dead} dead letters.',
  'stream-group-paused': 'The group {group} of {stream} is paused, so no consumer takes its messages.',
  'subject-limited': '{subject} has nothing left under the rule {rule}.',
  'take-back-by-hand':
    'The item can be rewarded again. There is no ledger, so take the points back in your own accounts.',
  'task-behind': 'The task is due, but {ahead} tasks of partition {partition} come before it.',
  'task-group-paused': 'The task is due, but its group {group} is paused.',
  'task-lease-ended':
    'The worker of the task has died or stood still: its lease has ended, and the next worker takes the task.',
  'task-queue-paused': 'The task is due, but the queue {queue} is paused.',
  'task-runs': 'The task {id} runs now, so it stays as it is.',
  'task-state-differs': 'The task {id} is {state}. The action is for tasks that are {needs}.',
  'task-waits-for-retry': 'Attempt {attemptsMade} of {attempts} failed, and the next one is not due yet: {error}',
  'task-workers-busy':
    'The task is the next one of its partition, but all workers of the queue {queue} are busy, or none of them has a handler of {name}.',
} as const;

const NOTES = {
  'activity-state': 'The activity {activity} is {state}.',
  'grant-taken-back-before': 'The grant was taken back before.',
  'job-is-handler': 'This is a handler of requests or messages. It runs when one comes, and not by hand.',
  'job-never-ran': 'Redis knows no run of the job {name}.',
  'job-running': '{node} runs the job {name} now.',
  'lock-free-waited-for': 'The lock {name} is free, and the first of {waiters} waiting processes takes it next.',
  'message-due': 'The message waits for a consumer of the group {group}.',
  'message-gone':
    'The stream does not have the message any more, and the group {group} has no dead letter of it: it was settled, or never added.',
  'message-held': 'The consumer {consumer} works on the message for the group {group}.',
  'message-no-group': 'No group reads the stream, so the message stays.',
  'message-parked': 'The message waits for an earlier message with the key {key} in the group {group}.',
  'message-unread': 'The group {group} has not read the message yet.',
  'once-gone': 'Redis has forgotten {name}.',
  'once-in-progress': 'An owner works on it, and renews the lease meanwhile. Repeats get "in progress".',
  'once-lease-ended': 'The lease of its owner has ended. The next caller does the work.',
  'once-released': 'It was released. The next caller does the work.',
  'once-search':
    'Search for a request key or an id to see its state. Redis keeps no list of them, so lists are read page by page.',
  'once-searched-in-part':
    'Redis has many keys, so only a part of them was searched. The list has all: filter it by this key.',
  'payouts-open': '{openPayouts} payouts of {activity} are open.',
  'reward-capped': 'The period of the rule {rule} is full: further items are not rewarded.',
  'row-waits': 'The row waits until a relay sends it.',
  'scan-goes-on': 'Redis has many other keys, so this page is not full. The next pages may have more.',
  'server-no-aof':
    'The server {server} has no append-only file. After a crash it lacks what was written since its last snapshot.',
  'start-limit': 'The queue {queue} has started as many tasks as its startLimit allows in this window.',
  'streams-searched-in-part':
    'Redis has many keys, so not all streams of other processes were searched. Search for the name of a stream.',
  'take-back-in-ledger':
    'The item can be rewarded again. The ledger gets a row, from which your app takes the points back.',
  'task-group-full': 'The task is due, but {groupRunning} tasks of its group {group} run, which is the limit.',
  'task-group-rate': 'The task is due, but its group {group} has started as many tasks as its rate allows.',
  'task-not-due': 'The task is not due yet.',
  'task-running':
    'The worker {worker} has leased the task for attempt {attemptsMade} of {attempts}, and renews the lease while it works.',
  'task-start-limit':
    'The task is due, but the queue {queue} has started as many tasks as its startLimit allows in this window.',
} as const;

const WELL = {
  'books-add-up': 'The books of {activity} add up to the cent.',
  'group-not-paused': 'The group {group} is not paused.',
  'job-ran': 'The last run of {name}, on {node}, succeeded.',
  'lock-free': 'Nobody holds the lock {name}.',
  'lock-held': '{node} holds the lock {name}, and nobody waits for it.',
  'message-settled': 'The group {group} has settled the message.',
  'once-done': 'It is done. Repeats get the stored result until it expires.',
  'once-first': 'Somebody was the first, so later callers are refused until it expires.',
  'queue-well': 'The queue {queue} is on time: {waiting} tasks wait, and {running} run.',
  'registry-well': 'All {servers} servers reply, and have all {scripts} scripts.',
  'reward-open': 'The rule {rule} still rewards {remaining} items.',
  'schedule-next': 'The schedule waits for its next slot.',
  'server-well': 'The server {server} is well.',
  'stream-group-well': 'The group {group} of {stream} is up to date: {open} messages are not settled yet.',
  'subject-counted': 'No rule refuses {subject} now.',
  'subject-not-counted': 'No rule counts hits of {subject} now.',
  'task-done': 'The task is done.',
  'task-due': 'The task is due, and a worker takes it now.',
  'user-has-points': '{user} has {points} points in the running periods.',
  'user-won': '{user} won {amountCents} cents in {activity}.',
} as const;

const LEVELS = { error: ERRORS, warning: WARNINGS, info: NOTES, ok: WELL } as const;

/** Code of a sentence. */
export type Code = keyof (typeof ERRORS & typeof WARNINGS & typeof NOTES & typeof WELL);

const SENTENCES = new Map<string, Pick<Sentence, 'level' | 'text'>>(
  Object.entries(LEVELS).flatMap(([level, texts]) =>
    Object.entries(texts).map(([code, text]) => [code, { level: level as Sentence['level'], text }] as const),
  ),
);

/** Returns a sentence with its values filled in. @param fix the action that helps, and its target */
export function say(code: Code, values?: Values, fix?: Sentence['fix']): Sentence {
  const { level, text } = SENTENCES.get(code) as Pick<Sentence, 'level' | 'text'>;
  const filled = text.replace(/\{(\w+)\}/g, (_, name: string) => String(values?.[name] ?? ''));
  return { code, text: filled, level, ...(values && { values }), ...(fix && { fix }) };
}

/** Codes and English texts of all sentences, for the test of the page's words. */
export const ALL_SENTENCES: ReadonlyMap<string, string> = new Map(
  [...SENTENCES].map(([code, { text }]) => [code, text]),
);
