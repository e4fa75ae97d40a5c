import { size } from '../../../test/support/size';
import { check } from '../checker/check';
import { byKey, eventsOf, type Event, type Operation } from '../checker/history';
import { LimiterModel, type LimiterOperation } from '../models/limiter';
import { below, randomOf, type Random } from '../record/random';
import { bruteForce, read, register, write, type RegisterOperation } from './register';

const PENDING = Infinity;
/** Random histories of each kind. */
const ROUNDS = size(500, 2_000);

/** Ends of windows of random histories are not those of real ones: they may have an effect after their return. */
class Limits extends LimiterModel {
  override happens(): boolean {
    return false;
  }
}

describe('the checker', () => {
  const resultOf = (...operations: RegisterOperation[]): string => check(register, operations).result;

  it('accepts operations one after the other', () => {
    expect(resultOf(write(1, 0, 1), read(1, 2, 3), write(2, 4, 5), read(2, 6, 7))).toBe('linearizable');
    expect(check(register, []).result).toBe('linearizable');
  });

  it('accepts reads of either value while a write is in flight, in one order', () => {
    expect(resultOf(write(1, 0, 10), read(0, 1, 4), read(1, 5, 9))).toBe('linearizable');
    expect(resultOf(write(1, 0, 10), read(1, 1, 4), read(0, 5, 9))).toBe('not linearizable');
    expect(resultOf(write(1, 0, 10), read(1, 1, 6), read(0, 5, 9))).toBe('linearizable');
  });

  it('refuses a read of an old value after the write has returned', () => {
    expect(resultOf(write(1, 0, 1), read(0, 2, 3))).toBe('not linearizable');
  });

  it('a write without a reply may take effect late, early or never, but once', () => {
    expect(resultOf(write(1, 0, PENDING), read(0, 1, 2), read(1, 3, 4))).toBe('linearizable');
    expect(resultOf(write(1, 0, PENDING), read(0, 1, 2), read(0, 3, 4))).toBe('linearizable');
    expect(resultOf(write(1, 0, PENDING), read(1, 1, 2), read(0, 3, 4))).toBe('not linearizable');
    expect(resultOf(read(1, 0, 1), write(1, 2, PENDING))).toBe('not linearizable');
    const again = [read(1, 1, 2), write(2, 3, 4), read(1, 5, 6)];
    expect(resultOf(write(1, 0, PENDING), ...again)).toBe('not linearizable');
    expect(resultOf(write(1, 0, PENDING), write(1, 0, PENDING), ...again)).toBe('linearizable');
  });

  it('an optional operation takes effect before its return, or never', () => {
    const optional = { ...write(1, 0, 5), optional: true };
    expect(resultOf(optional, read(0, 6, 7))).toBe('linearizable');
    expect(resultOf(optional, read(1, 6, 7))).toBe('linearizable');
    expect(resultOf(optional, read(0, 6, 7), read(1, 8, 9))).toBe('not linearizable');
  });

  it('returns the events up to the first return that cannot be', () => {
    const [first, second] = [read(2, 2, 3), read(0, 4, 9)];
    const verdict = check(register, [write(1, 0, 1), first, write(2, 1.5, 8), second, read(7, 10, 11)]);
    expect(verdict.result).toBe('not linearizable');
    const { prefix } = verdict as { readonly prefix: readonly Event[] };
    expect(prefix.at(-1)).toMatchObject({ kind: 'return', operation: second });
    expect(prefix.map(({ at }) => at)).toEqual([0, 1, 1.5, 2, 3, 4, 8, 9]);
  });

  it('ends at its bound', () => {
    const writes = Array.from({ length: 9 }, (_, n) => write(n, 0, 100));
    const unread = [...writes, read(99, 101, 102)];
    expect(check(register, unread, { configurations: 50 })).toEqual({ result: 'unknown', configurations: 50 });
    expect(check(register, unread).result).toBe('not linearizable');
  });

  it('checks a history of two keys key by key', () => {
    const both = [
      { key: 'a', ...write(1, 0, 1) },
      { key: 'b', ...read(0, 2, 3) },
      { key: 'a', ...read(1, 2, 3) },
    ];
    expect(check(register, both).result).toBe('not linearizable');
    for (const history of byKey(both).values()) expect(check(register, history).result).toBe('linearizable');
  });
});

describe('compared with all orders', () => {
  const randomOps = (random: Random, make: (random: Random, n: number) => Operation): Operation[] =>
    Array.from({ length: 2 + below(random, 5) }, (_, n) => {
      const call = below(random, 12);
      const end = random() < 0.2 ? PENDING : call + 1 + below(random, 6);
      const operation = { ...make(random, n), id: String(n), call, return: end, optional: random() < 0.1 };
      return end === PENDING ? { ...operation, output: undefined } : operation;
    });

  const registerOperation = (random: Random): Operation =>
    random() < 0.5 ? write(1 + below(random, 3), 0, 0) : read(below(random, 4), 0, 0);

  const limiterOperation = (random: Random, n: number): Operation => {
    const output = {
      allowed: random() < 0.7,
      used: below(random, 5),
      refunded: below(random, 2),
      reset: random() < 0.5,
    };
    const inputs: LimiterOperation['input'][] = [
      { op: 'consume', cost: 1 + below(random, 2), refunded: true },
      { op: 'peek', cost: 1 },
      { op: 'refund', of: String(below(random, n + 1)), cost: 1 },
      { op: 'reset' },
      { op: 'end', of: String(below(random, n + 1)) },
    ];
    const input = inputs[below(random, 8)] ?? inputs[0];
    const { allowed, used, refunded, reset } = output;
    const figures = input?.op === 'refund' ? { refunded } : input?.op === 'reset' ? { reset } : { allowed, used };
    return { id: '', call: 0, return: 0, input, output: input?.op === 'end' ? {} : figures };
  };

  it.each([
    ['registers', register, registerOperation],
    ['limits', new Limits(3, true), limiterOperation],
  ] as const)('finds the same for random histories of %s, and the shortest prefix', (_, model, make) => {
    const random = randomOf(1_993);
    const results = { linearizable: 0, other: 0 };
    for (let n = 0; n < ROUNDS; n++) {
      const operations = randomOps(random, make) as never[];
      const verdict = check(model as never, operations);
      expect(check(model as never, operations, { likely: 'last' }).result).toBe(verdict.result);
      expect(verdict.result).toBe(bruteForce(model as never, operations) ? 'linearizable' : 'not linearizable');
      results[verdict.result === 'linearizable' ? 'linearizable' : 'other'] += 1;
      if (verdict.result !== 'not linearizable') continue;
      expect(bruteForce(model as never, endedAfter(operations, verdict.prefix.length) as never[])).toBe(false);
      expect(bruteForce(model as never, endedAfter(operations, verdict.prefix.length - 1) as never[])).toBe(true);
    }
    expect(Math.min(results.linearizable, results.other)).toBeGreaterThan(ROUNDS / 10);
  });

  /** Returns what was known of a history after its first events. */
  function endedAfter(operations: readonly Operation[], count: number): Operation[] {
    const events = eventsOf(operations).slice(0, count);
    const returned = new Set(events.filter(({ kind }) => kind === 'return').map(({ operation }) => operation));
    return events
      .filter(({ kind }) => kind === 'call')
      .map(({ operation }) => (returned.has(operation) ? operation : { ...operation, return: PENDING }));
  }
});

describe('what happens without a call', () => {
  const WINDOW = 6;

  /** Simulates calls that are counted at random moments, and the ends of their windows. */
  function execution(random: Random): LimiterOperation[] {
    let [now, startedAt, used] = [0, -WINDOW, 0];
    return Array.from({ length: 10 }, (_, n) => {
      now += random() * 3;
      if (now >= startedAt + WINDOW) used = 0;
      if (used === 0) startedAt = now;
      const allowed = used < 3;
      if (allowed) used += 1;
      const [call, end] = [now - random() * 4, now + random() * 4];
      const output = { allowed, used };
      const consumed: LimiterOperation = { id: `${n}`, call, return: end, input: { op: 'consume', cost: 1 }, output };
      const ended = {
        id: `${n}/end`,
        call: call + WINDOW,
        return: end + WINDOW,
        input: { op: 'end', of: `${n}` },
      } as const;
      return allowed ? [consumed, { ...ended, output: {} }] : [consumed];
    }).flat();
  }

  it('is accepted at its moment, and refused if the outputs say otherwise', () => {
    const random = randomOf(2_017);
    const model = new LimiterModel(3, true);
    let refused = 0;
    for (let n = 0; n < 1_000; n++) {
      const operations = execution(random);
      expect(check(model, operations).result).toBe('linearizable');
      const at = below(random, operations.length);
      const wrong = operations.map((one, i) =>
        i === at && one.input.op === 'consume' ? { ...one, output: { allowed: true, used: 3 } } : one,
      );
      if (check(model, wrong).result === 'not linearizable') refused += 1;
    }
    expect(refused).toBeGreaterThan(100);
  });
});
