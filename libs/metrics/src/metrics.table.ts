import { CALL, SECONDS } from './buckets';

/** How a metric is kept. */
export type MetricKind = 'counter' | 'histogram' | 'gauge';

/** What a metric is. */
export interface Metric {
  readonly kind: MetricKind;
  /** UCUM, as OpenTelemetry wants it. */
  readonly unit: string;
  readonly description: string;
  /** Names of its attributes, all of them on every value. */
  readonly attributes: readonly string[];
  /** Bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
}

/**
 * What `METRICS` says, with types as narrow as it is. Values of attributes are words of the libs and names that an app's code gives (scripts,
 * rules, jobs, tasks, queues, streams); never a subject, a user, a key, an id or the text of an error.
 */
export const TABLE = Object.freeze({
  'luanest.script.group.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'From when a group of calls left as one EVALSHA until it was answered',
    attributes: ['luanest.registry', 'luanest.script'],
    buckets: CALL,
  },
  'luanest.script.calls': {
    kind: 'counter',
    unit: '{call}',
    description: 'Calls that were sent; divided by the groups they are the calls that left together',
    attributes: ['luanest.registry', 'luanest.script'],
  },
  'luanest.script.call.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'From the call of a script until its caller was told, waiting included',
    attributes: ['luanest.registry', 'luanest.script', 'error.type'],
    buckets: CALL,
  },
  'luanest.script.call.errors': {
    kind: 'counter',
    unit: '{call}',
    description: 'Calls of scripts that were rejected after they were made',
    attributes: ['luanest.registry', 'luanest.script', 'error.type'],
  },
  'luanest.script.loads': {
    kind: 'counter',
    unit: '{load}',
    description: 'Times that scripts were put on a node, or were found there',
    attributes: ['luanest.registry', 'error.type'],
  },
  'luanest.script.heals': {
    kind: 'counter',
    unit: '{heal}',
    description: 'Times that a node had lost its scripts and got them again',
    attributes: ['luanest.registry', 'luanest.script'],
  },
  'luanest.rate_limit.decisions': {
    kind: 'counter',
    unit: '{decision}',
    description: 'Requests that were decided',
    attributes: ['luanest.outcome', 'luanest.rate_limit.source'],
  },
  'luanest.rate_limit.violations': {
    kind: 'counter',
    unit: '{violation}',
    description: 'Rules that a request was over, shadow rules among them',
    attributes: ['luanest.rate_limit.rule'],
  },
  'luanest.rate_limit.redis_failures': {
    kind: 'counter',
    unit: '{failure}',
    description: 'Requests that Redis did not decide, by what was done instead',
    attributes: ['luanest.rate_limit.policy', 'error.type'],
  },
  'luanest.rate_limit.breaker.changes': {
    kind: 'counter',
    unit: '{change}',
    description: 'Times that the breaker opened or closed',
    attributes: ['luanest.rate_limit.breaker.state'],
  },
  'luanest.rate_limit.unknown_subjects': {
    kind: 'counter',
    unit: '{request}',
    description: 'Requests of which a rule could not tell whose they are',
    attributes: ['luanest.rate_limit.rule', 'luanest.context'],
  },
  'luanest.once.claims': {
    kind: 'counter',
    unit: '{claim}',
    description: 'Claims that were answered',
    attributes: ['luanest.outcome'],
  },
  'luanest.once.leases.lost': {
    kind: 'counter',
    unit: '{lease}',
    description: 'Owners who found that their lease was over',
    attributes: ['luanest.during'],
  },
  'luanest.once.results.not_stored': {
    kind: 'counter',
    unit: '{result}',
    description: 'Work that was done and whose result could not be kept',
    attributes: ['luanest.reason'],
  },
  'luanest.once.settle.errors': {
    kind: 'counter',
    unit: '{call}',
    description: 'Work that ended and of which Redis could not be told',
    attributes: ['error.type'],
  },
  'luanest.read_reward.records': {
    kind: 'counter',
    unit: '{item}',
    description: 'Items that were recorded',
    attributes: ['luanest.read_reward.rule', 'luanest.outcome'],
  },
  'luanest.read_reward.points': {
    kind: 'counter',
    unit: '{point}',
    description: 'Points that were granted',
    attributes: ['luanest.read_reward.rule'],
  },
  'luanest.read_reward.refunds': {
    kind: 'counter',
    unit: '{refund}',
    description: 'Refunds that were asked for',
    attributes: ['luanest.read_reward.rule', 'luanest.outcome'],
  },
  'luanest.read_reward.points.refunded': {
    kind: 'counter',
    unit: '{point}',
    description: 'Points that were taken back',
    attributes: ['luanest.read_reward.rule'],
  },
  'luanest.read_reward.periods.missed': {
    kind: 'counter',
    unit: '{call}',
    description: "Calls that were made again since Redis' clock was in none of their periods",
    attributes: ['luanest.read_reward.rule'],
  },
  'luanest.lock.acquire.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'From when a lock was asked for until the answer, waiting included',
    attributes: ['luanest.outcome'],
    buckets: SECONDS,
  },
  'luanest.lock.hold.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'How long locks were held, and leases of scheduled runs; until they were released or lost',
    attributes: ['luanest.outcome'],
    buckets: SECONDS,
  },
  'luanest.lock.errors': {
    kind: 'counter',
    unit: '{call}',
    description: 'Renewals, releases and subscriptions that failed',
    attributes: ['luanest.during', 'error.type'],
  },
  'luanest.scheduled_lock.runs': {
    kind: 'counter',
    unit: '{tick}',
    description: 'Ticks of jobs in this process, by what became of them',
    attributes: ['luanest.scheduled_lock.job', 'luanest.outcome'],
  },
  'luanest.scheduled_lock.run.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'How long jobs ran',
    attributes: ['luanest.scheduled_lock.job', 'luanest.outcome'],
    buckets: SECONDS,
  },
  'luanest.delayed_task.attempt.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'How long attempts of tasks took',
    attributes: ['luanest.delayed_task.queue', 'luanest.delayed_task.name', 'luanest.outcome'],
    buckets: SECONDS,
  },
  'luanest.delayed_task.lateness': {
    kind: 'histogram',
    unit: 's',
    description: "How late attempts were taken, by Redis' clock",
    attributes: ['luanest.delayed_task.queue'],
    buckets: SECONDS,
  },
  'luanest.delayed_task.buried': {
    kind: 'counter',
    unit: '{task}',
    description: 'Tasks that became dead letters because their workers died',
    attributes: ['luanest.delayed_task.queue'],
  },
  'luanest.delayed_task.mended': {
    kind: 'counter',
    unit: '{task}',
    description: 'Tasks that had lost a half and were made due again, or removed',
    attributes: ['luanest.delayed_task.queue', 'luanest.outcome'],
  },
  'luanest.delayed_task.errors': {
    kind: 'counter',
    unit: '{call}',
    description: 'Calls of workers to Redis that failed',
    attributes: ['luanest.delayed_task.queue', 'luanest.during', 'error.type'],
  },
  'luanest.delayed_task.tasks': {
    kind: 'gauge',
    unit: '{task}',
    description: 'Tasks of the queue; those that are overdue are among those that wait',
    attributes: ['luanest.delayed_task.state'],
  },
  'luanest.delayed_task.late': {
    kind: 'gauge',
    unit: 's',
    description: 'How long the first of the overdue tasks has been due',
    attributes: [],
  },
  'luanest.stream.retries': {
    kind: 'counter',
    unit: '{message}',
    description: 'Attempts that failed or asked for another one',
    attributes: ['luanest.stream', 'luanest.stream.group'],
  },
  'luanest.stream.dead_letters': {
    kind: 'counter',
    unit: '{message}',
    description: 'Messages that were given up',
    attributes: ['luanest.stream', 'luanest.stream.group'],
  },
  'luanest.stream.lost': {
    kind: 'counter',
    unit: '{message}',
    description: 'Messages that were lost to other consumers while they were handled',
    attributes: ['luanest.stream', 'luanest.stream.group'],
  },
  'luanest.stream.taken_over': {
    kind: 'counter',
    unit: '{message}',
    description: 'Messages of dead consumers that this process took over',
    attributes: ['luanest.stream', 'luanest.stream.group'],
  },
  'luanest.stream.errors': {
    kind: 'counter',
    unit: '{call}',
    description: 'Calls of consumers to Redis that failed',
    attributes: ['luanest.stream', 'luanest.stream.group', 'luanest.during', 'error.type'],
  },
  'luanest.stream.messages': {
    kind: 'gauge',
    unit: '{message}',
    description: 'Messages as the group has them; those that are due or parked are among the pending ones',
    attributes: ['luanest.stream', 'luanest.stream.group', 'luanest.stream.state'],
  },
  'luanest.stream.oldest': {
    kind: 'gauge',
    unit: 's',
    description: 'Age of the oldest message that the group has not settled; 0 for none',
    attributes: ['luanest.stream', 'luanest.stream.group'],
  },
} as const satisfies Record<string, Metric>);

/** Name of a metric. */
export type MetricName = keyof typeof TABLE;

/** Every metric by its name. */
export const METRICS: Readonly<Record<MetricName, Metric>> = TABLE;

/** The metrics of a kind. */
export type MetricOf<K extends MetricKind> = {
  [N in MetricName]: (typeof TABLE)[N]['kind'] extends K ? N : never;
}[MetricName];

/** What must be said with each value of a metric. */
export type AttributesOf<N extends MetricName> = {
  readonly [A in (typeof TABLE)[N]['attributes'][number]]: A extends 'error.type' ? string | undefined : string;
};
