import fc from 'fast-check';
import { type CreateActivity } from 'luanest/red-packet';
import { InvalidInputError } from 'luanest/script-registry';
import { InvalidOptionError } from '../../internal/src';
import { checkActivity, parseMoney } from '../src/red-packet.input';
import { resolveOptions } from '../src/red-packet.options';

const MAX = Number.MAX_SAFE_INTEGER;
const plain = { buckets: 1, startsAtMs: 0, endsAtMs: 0, maxTries: 0, split: 'double-mean' };
const fair: CreateActivity = { activityId: 'a', totalCents: 100, packets: 10 };

describe('checkActivity', () => {
  it('fills in the defaults', () => {
    expect(checkActivity(fair)).toEqual({ ...fair, ...plain, minCents: 1, maxCents: 100 });
    const tight = { ...fair, minCents: 10, maxCents: 10 };
    expect(checkActivity(tight)).toEqual({ ...tight, ...plain });
  });

  it('accepts parameters up to their limits', () => {
    const widest = { activityId: 'x'.repeat(128), totalCents: MAX, packets: 1_000_000, minCents: 1, maxCents: MAX };
    expect(checkActivity(widest)).toEqual({ ...widest, ...plain });
    expect(checkActivity({ activityId: 'a', totalCents: 1, packets: 1 })).toMatchObject({ maxCents: 1 });
  });

  it.each<[string, Record<string, unknown>]>([
    ['activityId', { activityId: undefined }],
    ['activityId', { activityId: '' }],
    ['activityId', { activityId: 'x'.repeat(129) }],
    ['activityId', { activityId: '\udc00' }],
    ['activityId', { activityId: 5 }],
    ['totalCents', { totalCents: undefined }],
    ['totalCents', { totalCents: null }],
    ['totalCents', { totalCents: 0 }],
    ['totalCents', { totalCents: -1 }],
    ['totalCents', { totalCents: 99.5 }],
    ['totalCents', { totalCents: '100' }],
    ['totalCents', { totalCents: 2 ** 53 }],
    ['totalCents', { totalCents: Infinity }],
    ['packets', { packets: undefined }],
    ['packets', { packets: 0 }],
    ['packets', { packets: 1_000_001, totalCents: 10_000_000 }],
    ['packets', { packets: 1.5 }],
    ['minCents', { minCents: 0 }],
    ['minCents', { minCents: '1' }],
    ['maxCents', { maxCents: 0 }],
    ['maxCents', { minCents: 5, maxCents: 4 }],
    ['maxCents', { maxCents: 2 ** 53 }],
    ['totalCents', { minCents: 11 }],
    ['totalCents', { maxCents: 9 }],
    ['totalCents', { packets: 101 }],
    ['totalCents', { packets: 100_000, totalCents: MAX, minCents: MAX }],
    ['buckets', { buckets: 0 }],
    ['buckets', { buckets: 65, packets: 100 }],
    ['buckets', { buckets: 11 }],
    ['totalCents', { buckets: 2, totalCents: 2 ** 46 + 1 }],
    ['startsAtMs', { startsAtMs: -1 }],
    ['startsAtMs', { startsAtMs: Date.UTC(2100, 0) + 1 }],
    ['endsAtMs', { endsAtMs: Date.UTC(2100, 0) + 1 }],
    ['endsAtMs', { startsAtMs: 5, endsAtMs: 5 }],
    ['endsAtMs', { endsAtMs: 1.5 }],
    ['maxTries', { maxTries: -1 }],
    ['split', { split: 'fair' }],
    ['split', { split: 'given' }],
    ['split', { split: 'equal', amounts: Array.from({ length: 10 }, () => 10) }],
    ['amounts', { amounts: 'x' }],
    ['amounts', { amounts: [100] }],
    ['amounts', { amounts: Array.from({ length: 10 }, () => 11) }],
    ['amounts', { amounts: [...Array.from({ length: 9 }, () => 10), 10.5] }],
    ['amounts', { amounts: [...Array.from({ length: 9 }, () => 11), 1], minCents: 5 }],
  ])('names %s in %j', (field, change) => {
    const check = (): unknown => checkActivity({ ...fair, ...change });
    expect(check).toThrow(InvalidInputError);
    expect(check).toThrow(new RegExp(`^${field} is `));
  });

  it.each<[string, unknown]>([
    ['NaN', Number.NaN],
    ['Infinity', Infinity],
    ['100n', 100n],
    ['"100"', '100'],
    ['an object', { cents: 100 }],
    ['undefined', undefined],
  ])('shows the value %s as it is', (text, totalCents) => {
    const check = (): unknown => checkActivity({ ...fair, totalCents: totalCents as number });
    expect(check).toThrow(`totalCents is ${text}. Expected an integer from 1 to ${MAX}.`);
  });

  it('cuts a long value short, so that it cannot fill a log', () => {
    const check = (): unknown => checkActivity({ ...fair, activityId: 'x'.repeat(1_000_000) });
    expect(check).toThrow(/^activityId is .{80,140}characters\)\. Expected 1 to 128/);
  });

  it('accepts exactly the parameters that can be split', () => {
    const cents = fc.integer({ min: 1, max: 50 });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: 1, max: 20 }),
        cents,
        cents,
        (total, n, one, other) => {
          const [minCents, maxCents] = [Math.min(one, other), Math.max(one, other)];
          const possible = n * minCents <= total && total <= n * maxCents;
          const check = (): unknown =>
            checkActivity({ activityId: 'a', totalCents: total, packets: n, minCents, maxCents });
          if (possible) expect(check).not.toThrow();
          else expect(check).toThrow(InvalidInputError);
        },
      ),
    );
  });
});

describe('parseMoney', () => {
  it.each([
    ['10000.00', 1_000_000],
    ['0.1', 10],
    ['0.01', 1],
    ['1', 100],
    ['1.5', 150],
    ['007', 700],
    ['4.35', 435],
    ['1.1', 110],
    ['0', 0],
    ['90071992547409.91', MAX],
  ])('reads %j as %d cents', (text, cents) => {
    expect(parseMoney('total', text)).toBe(cents);
  });

  it.each([
    '1.234',
    '-1',
    '+1',
    '1e3',
    '',
    ' ',
    ' 1',
    '1 ',
    '1\n',
    '.5',
    '1.',
    '1,5',
    '1,000.00',
    '1.0.0',
    '0x10',
    '¥1',
    '١',
    'NaN',
    'Infinity',
    '90071992547409.92',
    '99999999999999.99',
    '123456789012345',
    5,
    0.1,
    Number.NaN,
    100n,
    null,
    undefined,
    true,
    ['1'],
    {},
  ])('refuses %p and names the field', (value) => {
    expect(() => parseMoney('total', value)).toThrow(InvalidInputError);
    expect(() => parseMoney('total', value)).toThrow(/^total is /);
  });

  it('reads what a number of cents is written as', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX }), (cents) => {
        const digits = String(cents).padStart(3, '0');
        expect(parseMoney('total', `${digits.slice(0, -2)}.${digits.slice(-2)}`)).toBe(cents);
      }),
    );
  });
});

describe('the options', () => {
  const identity = (): undefined => undefined;

  it('keep activities for seven days by default, and are frozen', () => {
    const resolved = resolveOptions({ identity });
    expect(resolved).toEqual({
      identity,
      adminGuard: undefined,
      eligibility: undefined,
      retentionMs: 604_800_000,
      replicas: 0,
      replicasTimeoutMs: 1_000,
      partitions: 16,
      transferWaitMs: 1_000,
      soldOutMs: 1_000,
    });
    expect(Object.isFrozen(resolved)).toBe(true);
    expect(resolveOptions({ identity, retentionMs: 60_000 }).retentionMs).toBe(60_000);
  });

  it.each<[string, Record<string, unknown>]>([
    ['identity', { identity: undefined }],
    ['identity', { identity: 'x-user' }],
    ['adminGuard', { adminGuard: {} }],
    ['adminGuard', { adminGuard: 'AdminGuard' }],
    ['adminGuard', { adminGuard: null }],
    ['replicas', { replicas: -1 }],
    ['replicasTimeoutMs', { replicasTimeoutMs: 0 }],
    ['partitions', { partitions: 0 }],
    ['partitions', { partitions: 1_025 }],
    ['eligibility', { eligibility: true }],
    ['retentionMs', { retentionMs: 0 }],
    ['retentionMs', { retentionMs: 59_999 }],
    ['retentionMs', { retentionMs: 60_000.5 }],
    ['retentionMs', { retentionMs: '60000' }],
    ['retentionMs', { retentionMs: 10 * 366 * 86_400_000 }],
  ])('refuse %s in %j', (name, change) => {
    const resolve = (): unknown => resolveOptions({ identity, ...change });
    expect(resolve).toThrow(InvalidOptionError);
    expect(resolve).toThrow(new RegExp(`^RedPacketModule: ${name} is `));
  });
});
