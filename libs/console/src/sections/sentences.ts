import type { Sentence } from '../console.types';

type Values = NonNullable<Sentence['values']>;

/** The sentences of all sections, by code. `{name}` stands for the value `name` of the sentence. The page translates them to Chinese. */
const ERRORS = {
  'books-do-not-add-up': 'The audit of {activity} found a problem: {problem}.',
  'job-died':
    '{node} began a run of {name} and has not ended it: the process died, or the lease of the run ended too early.',
  'job-failed': 'The last run of {name}, on {node}, failed. The log of {node} has the error.',
  'job-lost':
    'The last run of {name}, on {node}, lost its lock before it ended. Another node may have run the job at the same time.',
  'job-not-run': 'The job {name} did not run: {status}.',
  'job-redis-error': 'The last run of {name}, on {node}, did not get its lock, because a call to Redis failed.',
  'job-run-failed': 'The job {name} ran, and failed: {error}.',
  'lock-needs-fence':
    'A lock is released only if its holder is still the one that you saw. Pass the fencing token of that holder as `expected`.',
  'message-dead': 'The message is a dead letter of the group {group} after {attempts} attempts: {error}',
  'no-worker':
    'No process works on the queue {queue}, so its tasks do not run. Start a process with the handlers, or set work: true.',
  'once-needs-fence':
    'A claim is ended only if it is still the one that you saw. Pass its fencing token as `expected`.',
  'outbox-failed':
    'Rows of the outbox that were refused, and are not sent again: {failed}. Correct the cause, then retry or drop them.',
  'outbox-undecided':
    'Rows of the outbox that may have had an effect or not, and are not sent again: {undecided}. Check each, then retry or drop it.',
  'payouts-dead':
    'Payouts of {activity} that failed in all attempts (dead letters): {deadLetters}. They are not paid until you replay them.',
  'registry-unhealthy': 'ScriptRegistry of this process has a problem with Redis: {problem}',
  'row-failed': 'The row was refused: {error}',
  'row-undecided':
    'It is not known whether this row was sent and had its effect. Check this before you retry or drop it.',
  'server-cannot-save':
    'The server {server} could not write to its disk. Look at the log of the server, and free disk space.',
  'server-memory-full':
    'The memory of the server {server} is almost full. Raise maxmemory, or remove data: when the memory is full, calls that add data fail.',
  'server-not-connected':
    'The server {server} is not connected. Check that it runs, and that this process can reach it.',
  'stream-no-consumer':
    'No process reads {stream} for the group {group}. Start a process with the handler, or remove the group if it is not needed.',
  'subject-blocked': '{subject} is blocked by the rule {rule}.',
  'task-dead': 'The task is a dead letter after {attemptsMade} of {attempts} attempts: {error}',
  'task-no-worker': 'The task is due, but no process works on the queue {queue}.',
} as const;

const WARNINGS = {
  'activity-changed': 'The activity is {state} now, and no longer {expected}, so nothing was done.',
  'activity-close-what-for':
    'The activity cannot be opened again. Packets that nobody has won, and that are refunded: {packets}.',
  'activity-owes':
    '{activity} is older than its retention, but is not finished. Payouts that are not paid: {openPayouts}. Refunded packets that are not reported yet: {unreportedPackets}.',
  'activity-paused': 'The activity {activity} is paused: nobody can grab until it is resumed.',
  'dead-letter-gone': 'Redis no longer has the dead letter {id}. Somebody may have replayed or dropped it.',
  'grant-expired':
    'The period of the grant is over, so it can no longer be taken back here. Take the points back in your own accounts.',
  'grant-unknown': 'The user has no grant with this id in the present period. Nothing was changed.',
  'group-paused': 'The group {group} is paused: none of its tasks is run.',
  'groups-paused': 'Groups of the queue {queue} are paused: {groups}.',
  'job-locked':
    'The job {name} did not run, because another run of it holds its lock. Try again when that run has ended.',
  'lock-changed': 'The holder that you saw no longer has the lock. Nothing was changed.',
  'lock-release-unknown':
    'The call was sent twice, because its first reply was lost. Most probably the first one released the lock.',
  'lock-release-what-for':
    'After the release, {node} still believes that it has the lock, until its next renewal. Release the lock only if {node} has stopped the work.',
  'lock-waited-for': '{node} holds the lock {name}. Processes that wait for it: {waiters}.',
  'message-group-paused': 'The group {group} is not done with the message, because the group is paused.',
  'message-lease-ended':
    'The consumer {consumer} has died or was blocked: its lease has ended. The next consumer takes the message.',
  'message-waits-for-retry': 'Attempt {attempts} of the group {group} failed, and the next one is not due yet: {error}',
  'once-abandoned':
    'The process that worked on this id died or was blocked. At most one run is allowed, so the work does not run again. Check if it was done. If not, forget the id.',
  'once-changed': '{name} has changed since you saw it, so nothing was done. Look again.',
  'once-forget-what-for': 'The stored result is deleted, and the next caller does the work again.',
  'once-release-what-for':
    'The process that has the claim may still work, and the next caller may do the work at the same time. Release the claim only if that process is gone.',
  'outbox-late':
    'Rows of the outbox that wait, the oldest for too long: {waiting}. Check that a process with the outbox runs, and that Redis accepts its calls.',
  'queue-behind':
    'The queue {queue} is late. Tasks that are due and do not run yet: {overdue}. Running tasks: {running}. Add processes, or raise concurrency.',
  'queue-has-dead':
    'Tasks of the queue {queue} that failed in all attempts (dead letters): {dead}. Correct the cause, then replay or drop them.',
  'queue-item-changed': '{id} has changed since you saw it, so nothing was done. Look again.',
  'queue-item-gone': 'Redis no longer has a task or a schedule with the id {id}.',
  'queue-paused': 'The queue {queue} is paused, so no process takes its tasks.',
  'row-may-act-twice':
    'It is not known whether an undecided row was sent and had its effect. Check this first: a retry may have the effect a second time.',
  'schedule-late': 'The schedule is late: its time has come, and no worker of the queue {queue} has run it.',
  'server-clock-differs':
    'The clock of the server {server} differs from that of this process by {differenceMs} ms. Synchronize both with NTP.',
  'server-evicts':
    'The server {server} removes keys when its memory is full ({policy}). Set maxmemory-policy to noeviction, or tasks, locks and claims can be lost.',
  'server-replica-behind':
    'The replica {server} has no connection to its master, so it gets no new data. Check the network and the master.',
  'stream-group-behind':
    'The group {group} of {stream} is late. Messages that are not done: {open}. Look at the oldest one, or add consumers.',
  'stream-group-has-dead':
    'Messages of {stream} that failed in all attempts of the group {group} (dead letters): {dead}. Correct the cause, then replay or drop them.',
  'stream-group-paused': 'The group {group} of {stream} is paused, so no consumer takes its messages.',
  'subject-limited': '{subject} has used its whole limit of the rule {rule}, so further requests are refused.',
  'take-back-by-hand':
    'The item can be rewarded again. There is no ledger, so take the points back in your own accounts.',
  'task-behind':
    'The task is due, but other tasks of its part of the queue (partition {partition}) run first: {ahead}.',
  'task-group-paused': 'The task is due, but its group {group} is paused.',
  'task-lease-ended':
    'The process that ran the task has died or was blocked: its lease has ended. The next worker runs the task.',
  'task-queue-paused': 'The task is due, but the queue {queue} is paused.',
  'task-runs': 'The task {id} runs now, so it was not changed. Try again when it has ended.',
  'task-state-differs':
    'The task {id} is {state}, so it was not changed. This action is only for tasks that are {needs}.',
  'task-waits-for-retry': 'Attempt {attemptsMade} of {attempts} failed, and the next one is not due yet: {error}',
  'task-workers-busy':
    'The task is due, but all workers of the queue {queue} are busy, or none of them has a handler for {name}.',
} as const;

const NOTES = {
  'activity-state': 'The activity {activity} is {state}.',
  'grant-taken-back-before': 'The grant was taken back before, so nothing was changed.',
  'job-is-handler':
    'This is a handler of requests or messages, so it cannot be run by hand. It runs when a request or a message comes.',
  'job-never-ran': 'The job {name} has not run yet, or Redis no longer has its history.',
  'job-running': '{node} runs the job {name} now.',
  'lock-free-waited-for':
    'The lock {name} is free, and the first process that waits gets it next. Processes that wait: {waiters}.',
  'message-due': 'The message waits for a consumer of the group {group}.',
  'message-gone':
    'The stream does not have the message, and the group {group} has no dead letter of it. Either the group has finished it, or it was never added.',
  'message-held': 'The consumer {consumer} works on the message for the group {group}.',
  'message-no-group': 'No group reads the stream, so the message stays.',
  'message-parked': 'The message waits for an earlier message with the key {key} in the group {group}.',
  'message-unread': 'The group {group} has not read the message yet.',
  'once-gone': 'Redis has forgotten {name}.',
  'once-in-progress': 'A process works on this id now, and renews its lease. Repeats get "in progress".',
  'once-lease-ended':
    'The process that worked on this id died or was blocked: its lease has ended. The next caller does the work.',
  'once-released': 'The claim of this id was released. The next caller does the work.',
  'once-search':
    'Search for a request key or an id to see its state. Redis keeps no list of them, so lists are read page by page.',
  'once-searched-in-part':
    'Redis has many keys, so only a part of them was searched. To search all of them for {id}, open the list and enter {id} in its filter.',
  'payouts-open': 'Payouts of {activity} that are not paid yet: {openPayouts}.',
  'reward-capped':
    'The user has reached the cap of the rule {rule} for this period, so further items are not rewarded.',
  'row-waits': 'The row waits until a process with the outbox sends it.',
  'scan-goes-on': 'Redis has many other keys, so this page has few entries or none. The next pages may have more.',
  'server-no-aof':
    'The server {server} has no append-only file. A crash loses all writes since the last snapshot. Set appendonly to yes.',
  'start-limit': 'The queue {queue} has started as many tasks as its startLimit allows in this window.',
  'streams-searched-in-part':
    'Redis has many keys, so not all streams of other processes were searched. Search for the name of a stream.',
  'take-back-in-ledger':
    'The item can be rewarded again. The ledger gets a row, from which your app takes the points back.',
  'task-group-full': 'The task is due, but as many tasks of its group {group} run as the limit allows: {groupRunning}.',
  'task-group-rate': 'The task is due, but its group {group} has started as many tasks as its rate allows.',
  'task-not-due': 'The task is not due yet.',
  'task-running':
    'The worker {worker} has leased the task for attempt {attemptsMade} of {attempts}, and renews the lease while it works.',
  'task-start-limit':
    'The task is due, but the queue {queue} has started as many tasks as its startLimit allows in this window.',
} as const;

const WELL = {
  'books-add-up': 'The audit of {activity} found no problem: all of its money adds up to the cent.',
  'group-not-paused': 'The group {group} is not paused.',
  'job-ran': 'The last run of {name}, on {node}, succeeded.',
  'lock-free': 'Nobody holds the lock {name}.',
  'lock-held': '{node} holds the lock {name}, and nobody waits for it.',
  'message-settled': 'The group {group} is done with the message.',
  'once-done': 'The work of this id is done. Repeats get the stored result until it expires.',
  'once-first': 'A first caller has used this id, so later callers are refused until it expires.',
  'queue-well': 'The queue {queue} is on time. Tasks that wait: {waiting}, and that run: {running}.',
  'registry-well': 'All servers reply ({servers}), and have all scripts ({scripts}).',
  'reward-open': 'Items that the rule {rule} still rewards: {remaining}.',
  'schedule-next': 'The schedule waits for its next time.',
  'server-well': 'The server {server} has no problems.',
  'stream-group-well': 'The group {group} of {stream} is on time. Messages that are not done yet: {open}.',
  'subject-counted': 'No rule refuses {subject} now.',
  'subject-not-counted': 'No rule counts hits of {subject} now.',
  'task-done': 'The task is done.',
  'task-due': 'The task is due, and a worker takes it now.',
  'user-has-points': 'Points of {user} in the running periods: {points}.',
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
