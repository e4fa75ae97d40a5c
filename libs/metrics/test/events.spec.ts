import { channel } from 'node:diagnostics_channel';
import { diag } from '@opentelemetry/api';
import { NotSentError } from 'luanest/script-registry';
import { startMetrics } from 'luanest/metrics';
import { EventChannel } from '../../internal/src';
import { METRICS } from '../src/metrics.definitions';
import type { ChannelEvents } from '../src/metrics.channels';
import type { Metric } from '../src/metrics.types';
import { Meters } from './support';

// What no value of an attribute may hold.
const SECRET = 'user-7c1d';
const error = new NotSentError(`nothing was sent for ${SECRET}`);
const counts = { length: 9, pending: 3, lag: 4, oldestMs: 1_500, due: 2, parked: 1, dead: 5, sessions: 1 };
const stats = { ...counts, paused: false, partitions: [counts] };
const group = { stream: 'orders', group: 'mails' };

/** One event for each channel, with a secret in each field that may have text of the app. */
const events: { readonly [C in keyof ChannelEvents]: ChannelEvents[C] } = {
  'luanest:script-registry:scripts.loaded': { registry: 'r', node: '127.0.0.1:1', scripts: 2, error },
  'luanest:script-registry:scripts.healed': { registry: 'r', node: '127.0.0.1:1', script: 's' },
  'luanest:script-registry:group.sent': { registry: 'r', script: 's', node: '127.0.0.1:1', calls: 7, inFlight: 1 },
  'luanest:script-registry:group.ended': { registry: 'r', script: 's', node: '127.0.0.1:1', calls: 7, durationMs: 2 },
  'luanest:script-registry:call.started': { registry: 'r', script: 's' },
  'luanest:script-registry:call.ended': { call: { registry: 'r', script: 's' }, durationMs: 3, error },
  'luanest:script-registry:call.failed': { registry: 'r', script: 's', error },
  'luanest:rate-limit:request.allowed': { rules: ['a'], violated: ['shadowed'], source: 'redis', retryAfterMs: 0 },
  'luanest:rate-limit:request.refused': { rules: ['a', 'b'], violated: ['b'], source: 'cache', retryAfterMs: 5 },
  'luanest:rate-limit:redis.failed': { rules: ['a'], policy: 'local', error: new Error(SECRET) },
  'luanest:rate-limit:breaker.changed': { state: 'opened' },
  'luanest:rate-limit:subject.unknown': { context: 'ws', rule: 'a' },
  'luanest:once:claim.answered': { status: 'claimed' },
  'luanest:once:lease.lost': { during: 'confirm' },
  'luanest:once:result.dropped': { reason: 'too-large' },
  'luanest:once:settlement.failed': { error },
  'luanest:read-reward:read.recorded': { rule: 'article', status: 'rewarded', points: 2 },
  'luanest:read-reward:grant.refunded': { rule: 'article', status: 'refunded', points: 2 },
  'luanest:read-reward:period.missed': { rule: 'article', skewMs: 4 },
  'luanest:lock:acquisition.ended': { names: [SECRET], status: 'busy', durationMs: 30 },
  'luanest:lock:lock.released': { name: SECRET, fence: 1, heldMs: 40 },
  'luanest:lock:lock.lost': { name: SECRET, fence: 1, heldMs: 50, reason: SECRET },
  'luanest:lock:call.failed': { name: SECRET, during: 'renew', error },
  'luanest:scheduled-lock:tick.ended': {
    name: 'daily',
    status: 'ran',
    slot: 1,
    recordedAtMs: 2,
    durationMs: 60,
    fence: 3,
    node: SECRET,
  },
  'luanest:delayed-task:attempt.settled': {
    namespace: 'q',
    name: 'order.expire',
    id: SECRET,
    attempt: 1,
    status: 'retried',
    lateMs: 70,
    durationMs: 80,
    error,
  },
  'luanest:delayed-task:tasks.buried': { namespace: 'q', count: 3, tasks: [] },
  'luanest:delayed-task:call.failed': { namespace: 'q', during: 'take', error },
  'luanest:delayed-task:queue.repaired': { namespace: 'q', restored: 4, dropped: 5 },
  'luanest:stream-consumer:message.retried': { ...group, id: SECRET, attempt: 1, delayMs: 1, error },
  'luanest:stream-consumer:messages.handled': { ...group, ids: [SECRET, SECRET, SECRET] },
  'luanest:stream-consumer:message.dead-lettered': { ...group, id: SECRET, attemptsMade: 2, reason: SECRET, error },
  'luanest:stream-consumer:messages.lost': { ...group, ids: [SECRET, SECRET], reason: SECRET },
  'luanest:stream-consumer:session.taken-over': { ...group, session: SECRET, messages: 6 },
  'luanest:stream-consumer:group.damaged': { ...group, restored: 7, deleted: 8 },
  'luanest:stream-consumer:group.measured': { ...group, stats },
  'luanest:stream-consumer:group.stalled': { ...group, stats },
  'luanest:stream-consumer:call.failed': { ...group, during: 'settle', error },
  'luanest:outbox:rows.sent': { table: 'outbox', tasks: 2, messages: 3, lagMs: 90 },
  'luanest:outbox:row.failed': {
    table: 'outbox',
    id: SECRET,
    kind: 'task',
    target: SECRET,
    undecided: false,
    error: new Error(SECRET),
  },
  'luanest:outbox:call.failed': { table: 'outbox', during: 'send', error },
};

// Tests of the libs in this process get no events if the channels of this file become garbage, see EventChannel.
for (const name of Object.keys(events)) new EventChannel(name);

function publishAll(): void {
  for (const [name, event] of Object.entries(events)) channel(name).publish(event);
}

/** Channels that had subscribers before this file: all spec files of a Jest worker share Node's own modules. */
const subscribedBefore = Object.keys(events).filter((name) => channel(name).hasSubscribers);

/** Channels that have got subscribers since then. */
function newlySubscribed(): string[] {
  return Object.keys(events).filter((name) => channel(name).hasSubscribers && !subscribedBefore.includes(name));
}

let meters: Meters;
let running: ReturnType<typeof startMetrics>;
const asked: string[] = [];
const tasks = {
  stats: () => {
    asked.push('stats');
    return Promise.resolve({ waiting: 4, overdue: 2, running: 1, dead: 3, lateMs: 2_500 });
  },
};

beforeEach(() => {
  meters = new Meters();
  running = startMetrics({ meterProvider: meters.provider, calls: true, tasks });
});
afterEach(() => running.stop());

it('records each metric of the table with its kind, unit and attributes, and no other metric', async () => {
  publishAll();
  const collected = await meters.collect();
  expect([...collected.keys()].sort()).toEqual(Object.keys(METRICS).sort());
  for (const [name, { kind, unit, attributes }] of Object.entries<Metric>(METRICS)) {
    const { descriptor, dataPoints } = collected.get(name) ?? {};
    const type = { counter: 'OBSERVABLE_COUNTER', histogram: 'HISTOGRAM', gauge: 'OBSERVABLE_GAUGE' }[kind];
    expect(descriptor).toMatchObject({ unit, type });
    expect(dataPoints?.length).toBeGreaterThan(0);
    for (const point of dataPoints ?? []) expect(Object.keys(point.attributes)).toEqual([...attributes]);
  }
});

it('no attribute contains an id, the name of a lock or the text of an error', async () => {
  publishAll();
  const values = [...(await meters.collect()).values()].flatMap(({ dataPoints }) =>
    dataPoints.flatMap(({ attributes }) => Object.values(attributes)),
  );
  expect(values.length).toBeGreaterThan(50);
  expect(values.filter((value) => String(value).includes(SECRET))).toEqual([]);
  expect(values).toContain('NOT_SENT');
  expect(values).toContain('_OTHER');
});

it('adds up counts; of messages and points it adds their number', async () => {
  publishAll();
  publishAll();
  expect(await meters.values('luanest.rate_limit.decisions')).toEqual([
    { attributes: { 'luanest.outcome': 'allowed', 'luanest.rate_limit.source': 'redis' }, value: 2 },
    { attributes: { 'luanest.outcome': 'refused', 'luanest.rate_limit.source': 'cache' }, value: 2 },
  ]);
  expect(await meters.values('luanest.rate_limit.violations')).toMatchObject([{ value: 2 }, { value: 2 }]);
  expect(await meters.values('luanest.read_reward.points')).toMatchObject([{ value: 4 }]);
  expect(await meters.values('luanest.stream.handled')).toMatchObject([{ value: 6 }]);
  expect(await meters.values('luanest.stream.lost')).toMatchObject([{ value: 4 }]);
  expect(await meters.values('luanest.stream.taken_over')).toMatchObject([{ value: 12 }]);
  expect(await meters.values('luanest.stream.damaged')).toMatchObject([{ value: 14 }, { value: 16 }]);
  expect(await meters.values('luanest.outbox.rows')).toMatchObject([{ value: 10 }, { value: 2 }]);
  expect(await meters.values('luanest.delayed_task.repaired')).toMatchObject([{ value: 8 }, { value: 10 }]);
  expect(await meters.values('luanest.lock.hold.duration')).toMatchObject([{ value: 2 }, { value: 2 }]);
});

it('durations are seconds', async () => {
  publishAll();
  const [point] = (await meters.collect()).get('luanest.lock.acquire.duration')?.dataPoints ?? [];
  expect(point?.value).toMatchObject({ sum: 0.03, count: 1 });
  expect(await meters.values('luanest.stream.oldest')).toMatchObject([{ value: 1.5 }]);
  expect(await meters.values('luanest.delayed_task.late')).toMatchObject([{ value: 2.5 }]);
});

it('gauges show the current state, and each collection calls stats() of the tasks once', async () => {
  publishAll();
  asked.length = 0;
  const states = await meters.values('luanest.delayed_task.tasks');
  expect(states.map(({ attributes, value }) => [attributes['luanest.delayed_task.state'], value])).toEqual([
    ['waiting', 4],
    ['overdue', 2],
    ['running', 1],
    ['dead', 3],
  ]);
  expect(asked).toEqual(['stats']);
  channel('luanest:stream-consumer:group.measured').publish({
    ...group,
    stats: { ...stats, lag: 0, oldestMs: undefined },
  });
  const messages = await meters.values('luanest.stream.messages');
  expect(messages.find(({ attributes }) => attributes['luanest.stream.state'] === 'lag')?.value).toBe(0);
  expect(await meters.values('luanest.stream.oldest')).toMatchObject([{ value: 0 }]);
});

it('times single calls and shows gauges of tasks only if the options ask for it', async () => {
  running.stop();
  running = startMetrics({ meterProvider: (meters = new Meters()).provider });
  publishAll();
  const names = [...(await meters.collect()).keys()];
  expect(names).not.toContain('luanest.script.call.duration');
  const gauges = names.filter((name) => METRICS[name as keyof typeof METRICS].kind === 'gauge');
  expect(gauges).toEqual(['luanest.stream.messages', 'luanest.stream.oldest']);
  expect(newlySubscribed()).not.toContain('luanest:script-registry:call.ended');
});

it('after stop() it counts nothing and shows nothing', async () => {
  publishAll();
  expect(newlySubscribed()).not.toEqual([]);
  running.stop();
  running.stop();
  publishAll();
  expect(newlySubscribed()).toEqual([]);
  expect(await meters.values('luanest.once.claims')).toEqual([]);
});

it('an event that cannot be counted is reported to diag, and does not end the process', async () => {
  const reported: string[] = [];
  const silent = (): void => undefined;
  diag.setLogger({
    error: (text: string) => void reported.push(text),
    warn: silent,
    info: silent,
    debug: silent,
    verbose: silent,
  });
  channel('luanest:rate-limit:request.refused').publish({});
  await new Promise(setImmediate);
  expect(reported).toEqual([expect.stringContaining('luanest:rate-limit:request.refused')]);
  diag.disable();
});

it('refuses invalid options, and names the option', () => {
  expect(() => startMetrics({ spans: 'yes' as never })).toThrow('spans is "yes".');
  expect(() => startMetrics({ tasks: {} as never })).toThrow(
    'startMetrics: tasks is an object. Expected an object with a method stats().',
  );
});
