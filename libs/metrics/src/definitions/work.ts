import { SECONDS } from '../histogram-bounds';
import type { Metric } from '../metrics.types';

/** Metrics of locks, jobs, tasks and messages. */
export const WORK = {
  'luanest.lock.acquire.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'Duration of an acquisition, waiting included',
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
    description: 'Ticks of jobs in this process, by outcome',
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
  'luanest.delayed_task.repaired': {
    kind: 'counter',
    unit: '{task}',
    description: 'Tasks that a sweep restored, and entries without a task that it removed',
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
    description: 'Time since the oldest overdue task was due',
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
    description: 'Messages that were dead-lettered',
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
} as const satisfies Record<string, Metric>;
