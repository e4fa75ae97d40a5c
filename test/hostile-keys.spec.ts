import fc from 'fast-check';
import { KeySpace, type ScriptRegistry } from 'luanest/script-registry';
import { Partitions } from '../libs/delayed-task/src/queue/task-codec';
import { OnceStore } from '../libs/once/src/once.store';
import { idOf } from '../libs/once/src/idempotency/request-identity';
import { memoryId } from '../libs/rate-limit/src/limiter/decision';
import { LimiterKeys } from '../libs/rate-limit/src/limiter/redis-limiter';
import { named, resolveRule } from '../libs/rate-limit/src/rules/resolve-rule';
import type { NamedRule } from '../libs/rate-limit/src/rules/rule';
import { RewardKeys } from '../libs/read-reward/src/read-reward.keys';
import { Layouts } from '../libs/red-packet/src/buckets/layout';
import { Partition } from '../libs/stream-consumer/src/streams/partitions';
import { HOSTILE_IDS } from './support/hostile';
import { size } from './support/size';

// The ways in which each lib makes keys of what strangers give, and whose keys those are.
type Tuple = readonly string[];
type Maker = (a: string, b: string) => readonly (readonly [tuple: Tuple, key: string])[];

const space = (lib: string): KeySpace => new KeySpace('p', lib);
const registry = { keySpace: space } as unknown as ScriptRegistry;

const limiterKeys = new LimiterKeys(space('rate-limit'), 4);
const rules = new Map<string, NamedRule>();
function ruleOf(name: string): NamedRule {
  const rule = rules.get(name) ?? named(resolveRule({ limit: 1, windowMs: 1 }), name);
  rules.set(name, rule);
  return rule;
}
const once = new OnceStore(registry);
const tasks = ['q', 'q.1', 'q-1'].map((queue) => new Partitions(space('delayed-task'), queue, 3));
const rewards = new RewardKeys(space('read-reward'), 4, ['rule', 'rule-1', 'r']);
const layouts = new Layouts(space('red-packet'), 4);
const streams = ['s', 's.0', 's:0'].map((name) => [name, new Partition(space('stream-consumer'), name, 0)] as const);

const makers: Readonly<Record<string, Maker>> = {
  'rate-limit': (a, b) => [
    [['state', a, b], limiterKeys.state(ruleOf(a), b)],
    [['penalty', a, b], limiterKeys.penalty(ruleOf(a), b)],
  ],
  lock: (a) => [
    [['lock', a], space('lock').tag(a).key('lock')],
    [['queue', a], space('lock').tag(a).key('queue')],
  ],
  once: (a, b) => [
    [['claim', a], once.keyOf(a)],
    // What the interceptor and the decorator make of theirs, and a stranger who names just that.
    [['request', a, b], once.keyOf(idOf(a, b), 'request')],
    [['claim', idOf(a, b)], once.keyOf(idOf(a, b))],
    [['handler', a, b], once.keyOf(JSON.stringify([a, b]), 'handler')],
    [['claim', JSON.stringify([a, b])], once.keyOf(JSON.stringify([a, b]))],
  ],
  'delayed-task': (a) =>
    tasks.flatMap((queue, i) => [
      [['operation', String(i), a], queue.of('x').operation(a)] as const,
      [['result', String(i), String(queue.of('x').index), a], queue.of('x').result(a)] as const,
      [['taken', String(i), a], queue.of('x').taken(a)] as const,
    ]),
  'read-reward': (a, b) =>
    ['rule', 'rule-1', 'r'].flatMap((rule) => [
      [['state', rule, a], rewards.state(rule, 0, a)] as const,
      [['ever', rule, a], rewards.key(0, 'ever', rule, a)] as const,
      [['answer', rule, a, b], rewards.key(0, 'answer', rule, a, b)] as const,
      [['receipt', rule, a, '1', '2'], rewards.key(0, 'receipt', rule, a, '1', '2')] as const,
    ]),
  'red-packet': (a) =>
    [1, 2, 3].flatMap((buckets) =>
      layouts
        .build(a, buckets)
        // The outboxes have no part of an id.
        .buckets.flatMap(({ outbox: _outbox, ...keys }, bucket) =>
          Object.entries(keys).map(([name, key]) => [[name, a, String(buckets), String(bucket)], key] as const),
        ),
    ),
  'stream-consumer': (a, b) => {
    const own = streams.flatMap(([name, partition]) => [
      [['operation', name, a], partition.operation(a)] as const,
      ...Object.entries(partition.of(a))
        .filter(([what]) => what !== 'stream' && what !== 'woken')
        .map(([what, key]) => [[what, name, a], key as string] as const),
    ]);
    // A stream that another program has named, here with the tag of one of ours.
    const key = `${a.replaceAll(/[{}]/g, '')}{s.0.0}`;
    const foreign = new Partition(space('stream-consumer'), 'f', 0, key);
    return [
      ...own,
      [['foreign-operation', key, b], foreign.operation(b)],
      [['foreign-woken', key], foreign.woken],
      ...Object.entries(foreign.of(b))
        .filter(([what]) => what !== 'stream' && what !== 'woken')
        .map(([what, made]) => [[`foreign-${what}`, key, b], made as string] as const),
    ];
  },
};

const piece = fc.oneof(
  fc.constantFrom(...HOSTILE_IDS),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
  fc.string({
    unit: fc.constantFrom('a', 'b', ':', '{', '}', '%', '3', 'A', '7', 'B', '~', '#', '"', ','),
    minLength: 1,
    maxLength: 8,
  }),
);
const id = piece.filter((text) => text !== '' && text.isWellFormed());

describe.each(Object.entries(makers))('keys of %s', (lib, make) => {
  const known = new Map<string, string>();

  // The hash tag is where the lib put it: the first brace is its own, and nothing behind it opens another.
  // Red packets set a TTL on the keys of stream-consumer that belong to their outboxes.
  const owners = lib === 'red-packet' ? 'red-packet|stream-consumer' : lib;
  const shape = new RegExp(`^p:(?:${owners}):\\{[^{}]+\\}:[^{}]*$`);

  function check(a: string, b: string): void {
    for (const [tuple, key] of make(a, b)) {
      const whose = JSON.stringify(tuple);
      // Two different tuples never give one key, whatever else was asked for before.
      const other = known.get(key);
      if (other !== undefined && other !== whose) throw new Error(`${key} is of ${other} and of ${whose}.`);
      if (!shape.test(key)) throw new Error(`${key} of ${whose} has its tag elsewhere.`);
      known.set(key, whose);
    }
  }

  it('are of one tenant each: hostile names in pairs', () => {
    for (const a of HOSTILE_IDS) for (const b of HOSTILE_IDS.slice(0, 16)) check(a, b);
    expect(known.size).toBeGreaterThan(HOSTILE_IDS.length - 1);
  });

  it('are of one tenant each: any names', () => {
    fc.assert(
      fc.property(id, id, (a, b) => check(a, b)),
      { numRuns: size(150, 2_000) },
    );
  });
});

describe('what processes remember of subjects', () => {
  it('is of one rule and subject, and bounded', () => {
    const known = new Map<string, string>();
    const check = (name: string, subject: string): void => {
      const whose = JSON.stringify([name, subject]);
      const kept = memoryId(ruleOf(name), subject);
      const other = known.get(kept);
      if (other !== undefined && other !== whose) throw new Error(`${kept} is of ${other} and of ${whose}.`);
      if (kept.length > name.length + 200) throw new Error(`${kept.length} characters are kept of ${whose}.`);
      known.set(kept, whose);
    };
    for (const a of HOSTILE_IDS) for (const b of HOSTILE_IDS) check(a, b);
    // As routes and throttlers may be named, and keys that callers send.
    check('GET /a', 'undelete:x');
    check('GET /a:undelete', 'x');
    check('GET /a', 'z'.repeat(10_240));
    check('GET /a', '\ud800');
    check('GET /a', '\ud801');
    fc.assert(fc.property(id, id, check), { numRuns: size(150, 2_000) });
  });
});

it('requests of two subjects never have one id, also where a text has no UTF-8', () => {
  const known = new Map<string, string>();
  const odd = fc.oneof(
    id,
    fc.string({ unit: fc.constantFrom('\ud800', '\udc01', '\ufffd', 'a', ':', '1'), minLength: 1 }),
  );
  const check = (subject: string, key: string): void => {
    const made = idOf(subject, key);
    const whose = JSON.stringify([subject, key]);
    expect([made, known.get(made) ?? whose]).toEqual([made, whose]);
    known.set(made, whose);
  };
  check('\ud800', 'k');
  check('\ud801', 'k');
  check('\ufffd', 'k');
  check('a'.repeat(600), 'k');
  check(`${'a'.repeat(599)}\ud800`, 'k');
  check(`${'a'.repeat(599)}\ufffd`, 'k');
  fc.assert(fc.property(odd, fc.string({ unit: fc.constantFrom('k', ':', '1', '2'), minLength: 1 }), check), {
    numRuns: size(150, 2_000),
  });
});
