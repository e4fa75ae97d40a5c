import type { Metric, MetricKind } from './metrics.types';

/** Bucket bounds of histograms for calls to Redis, seconds. */
const CALL = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** Bucket bounds of histograms for work that may take long, seconds. */
const WORK = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600] as const;

const SCRIPT = ['luanest.registry', 'luanest.script'] as const;
const LIMIT = 'luanest.rate_limit.rule';
const REWARD = 'luanest.read_reward.rule';
const JOB = 'luanest.scheduled_lock.job';
const NAMESPACE = 'luanest.delayed_task.namespace';
const STREAM = ['luanest.stream', 'luanest.stream.group'] as const;
const OUTBOX = 'luanest.outbox.table';
const OUTCOME = 'luanest.outcome';
const DURING = 'luanest.during';
const ERROR = 'error.type';

/** Defines a counter. @param unit name of the counted thing, such as `{call}` */
function counter<const A extends readonly string[]>(unit: string, description: string, ...attributes: A) {
  return { kind: 'counter', unit, description, attributes } as const;
}

/** Defines a gauge. @param unit `s`, or name of the counted thing, such as `{task}` */
function gauge<const A extends readonly string[]>(unit: string, description: string, ...attributes: A) {
  return { kind: 'gauge', unit, description, attributes } as const;
}

/** Defines a histogram of durations in seconds. @param buckets bounds of its buckets */
function durations<const A extends readonly string[]>(
  buckets: readonly number[],
  description: string,
  ...attributes: A
) {
  return { kind: 'histogram', unit: 's', description, attributes, buckets } as const;
}

/**
 * Definitions of all metrics, with literal types. The value of an attribute is a fixed word of luanest, such as `released`, or a name that
 * the app has given to a registry, script, rule, context, job, task, queue, stream, group or table. It is never the text of an error.
 */
export const TABLE = Object.freeze({
  'luanest.script.group.duration': durations(
    CALL,
    'Time from sending a group of calls as one EVALSHA to their results or errors',
    ...SCRIPT,
  ),
  'luanest.script.calls': counter(
    '{call}',
    'Calls of scripts that were sent; divide by the number of groups (each is one EVALSHA) to get the mean size of a group',
    ...SCRIPT,
  ),
  'luanest.script.call.duration': durations(
    CALL,
    'Time from the call of a script to its result or error, waiting included',
    ...SCRIPT,
    ERROR,
  ),
  'luanest.script.call.errors': counter(
    '{call}',
    'Calls of scripts that failed after their parameters were checked, sent or not',
    ...SCRIPT,
    ERROR,
  ),
  'luanest.script.loads': counter(
    '{load}',
    'Times that scripts were loaded into a Redis node, or the node had all of them; with error.type if loading failed',
    'luanest.registry',
    ERROR,
  ),
  'luanest.script.heals': counter(
    '{heal}',
    'Times that a node did not have the script of a call, so that it was loaded again',
    ...SCRIPT,
  ),
  'luanest.rate_limit.decisions': counter('{decision}', 'Requests decided', OUTCOME, 'luanest.rate_limit.source'),
  'luanest.rate_limit.violations': counter(
    '{violation}',
    'Rules that a request exceeded, shadow rules included',
    LIMIT,
  ),
  'luanest.rate_limit.redis_failures': counter(
    '{failure}',
    'Requests that Redis did not decide, by the policy that decided instead; the policy not-refunded counts failed refunds',
    'luanest.rate_limit.policy',
    ERROR,
  ),
  'luanest.rate_limit.breaker.changes': counter(
    '{change}',
    'Times that the circuit breaker opened or closed',
    'luanest.rate_limit.breaker.state',
  ),
  'luanest.rate_limit.unknown_subjects': counter(
    '{request}',
    'Requests for which a rule found no user or client to count',
    LIMIT,
    'luanest.context',
  ),
  'luanest.once.claims': counter('{claim}', 'Claims, by their outcome', OUTCOME),
  'luanest.once.leases.lost': counter('{lease}', 'Owners that found that their lease had ended', DURING),
  'luanest.once.results.not_stored': counter(
    '{result}',
    'Work that was done, but whose result could not be stored',
    'luanest.reason',
  ),
  'luanest.once.settle.errors': counter(
    '{call}',
    'Confirmations and releases of claims that failed in the background, so that no caller got the error',
    ERROR,
  ),
  'luanest.read_reward.records': counter('{item}', 'Reads recorded, by outcome', REWARD, OUTCOME),
  'luanest.read_reward.points': counter('{point}', 'Points granted; a repeated operation counts again', REWARD),
  'luanest.read_reward.refunds': counter('{refund}', 'Refunds, by outcome', REWARD, OUTCOME),
  'luanest.read_reward.points.refunded': counter('{point}', 'Points refunded', REWARD),
  'luanest.read_reward.periods.missed': counter(
    '{call}',
    "Times that Redis' clock was outside the periods that a call sent; the call is then repeated with other periods",
    REWARD,
  ),
  'luanest.lock.acquire.duration': durations(
    WORK,
    'Time from asking for a lock to the result, waiting included',
    OUTCOME,
  ),
  'luanest.lock.hold.duration': durations(
    WORK,
    'How long locks, and leases of scheduled runs, were held until they were released or lost',
    OUTCOME,
  ),
  'luanest.lock.errors': counter(
    '{call}',
    'Failed automatic renewals, releases at the end of withLock or await using, and subscriptions to releases',
    DURING,
    ERROR,
  ),
  'luanest.scheduled_lock.runs': counter(
    '{tick}',
    'Ticks, catch-ups, runs by hand and handler calls of this process, by outcome',
    JOB,
    OUTCOME,
  ),
  'luanest.scheduled_lock.run.duration': durations(WORK, 'How long jobs ran under their locks', JOB, OUTCOME),
  'luanest.delayed_task.attempt.duration': durations(
    WORK,
    'How long attempts of tasks took',
    NAMESPACE,
    'luanest.delayed_task.name',
    OUTCOME,
  ),
  'luanest.delayed_task.lateness': durations(
    WORK,
    "Time from when a task was due until its attempt began, by Redis' clock",
    NAMESPACE,
  ),
  'luanest.delayed_task.buried': counter(
    '{task}',
    'Tasks dead-lettered because their lease ended in the last attempt',
    NAMESPACE,
  ),
  'luanest.delayed_task.repaired': counter(
    '{task}',
    'Tasks restored because Redis had lost a part of them, and parts deleted whose task no longer exists',
    NAMESPACE,
    OUTCOME,
  ),
  'luanest.delayed_task.errors': counter('{call}', 'Calls of workers to Redis that failed', NAMESPACE, DURING, ERROR),
  'luanest.delayed_task.tasks': gauge(
    '{task}',
    'Tasks of the queue by state; overdue tasks also count as waiting',
    'luanest.delayed_task.state',
  ),
  'luanest.delayed_task.late': gauge('s', 'How long the first overdue task has been due'),
  'luanest.stream.handled': counter('{message}', 'Messages that were handled', ...STREAM),
  'luanest.stream.retries': counter(
    '{message}',
    'Attempts that failed or asked for a retry, and were followed by another attempt',
    ...STREAM,
  ),
  'luanest.stream.dead_letters': counter(
    '{message}',
    'Messages dead-lettered. Counted before Redis has replied, so the count may be too high',
    ...STREAM,
  ),
  'luanest.stream.lost': counter(
    '{message}',
    'Messages that this process no longer owned before Redis had confirmed their outcomes',
    ...STREAM,
  ),
  'luanest.stream.damaged': counter(
    '{message}',
    'Messages that another client of Redis removed from the pending list, or deleted before they were handled',
    ...STREAM,
    OUTCOME,
  ),
  'luanest.stream.taken_over': counter(
    '{message}',
    'Messages that this process took over from consumers that died, shut down or lost their lease',
    ...STREAM,
  ),
  'luanest.stream.errors': counter('{call}', 'Calls of consumers to Redis that failed', ...STREAM, DURING, ERROR),
  'luanest.stream.messages': gauge(
    '{message}',
    'Messages of the group by state. pending: taken, not finished; it includes due (may be taken again) and parked (an earlier message of the key is not finished)',
    ...STREAM,
    'luanest.stream.state',
  ),
  'luanest.stream.oldest': gauge(
    's',
    'Age of the oldest message that the group has not settled; 0 if it has settled all',
    ...STREAM,
  ),
  'luanest.outbox.rows': counter('{row}', 'Rows that were sent, or set aside because sending failed', OUTBOX, OUTCOME),
  'luanest.outbox.lag': durations(WORK, 'Age of the oldest row of a sent batch when the relay read the batch', OUTBOX),
  'luanest.outbox.errors': counter(
    '{call}',
    'Calls of relays to Redis or to the database that failed',
    OUTBOX,
    DURING,
    ERROR,
  ),
});

export type MetricName = keyof typeof TABLE;

/** Definitions of all metrics, by name. */
export const METRICS: Readonly<Record<MetricName, Metric>> = TABLE;

export type MetricOf<K extends MetricKind> = {
  [N in MetricName]: (typeof TABLE)[N]['kind'] extends K ? N : never;
}[MetricName];

/** Type of the attributes that each value of a metric must have. `error.type` is undefined if there is no error. */
export type AttributesOf<N extends MetricName> = {
  readonly [A in (typeof TABLE)[N]['attributes'][number]]: A extends 'error.type' ? string | undefined : string;
};
