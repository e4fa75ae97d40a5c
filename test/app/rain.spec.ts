import * as fc from 'fast-check';
import { auditRain, type Books, percentile } from '../../src/simulation/rain/audit';
import type { CrowdResult } from '../../src/simulation/rain/crowd';
import { formatCents, parseCents } from '../../src/simulation/rain/money';
import { parseRainOptions, RainUsageError } from '../../src/simulation/rain/rain-options';
import { formatAudit, progressTo } from '../../src/simulation/rain/report';
import { seededRandom, shuffle } from '../../src/simulation/rain/shuffle';

describe('money', () => {
  it('is exact where floating point is not', () => {
    expect(['0.01', '1', '1.1', '10000.00', '4.35', '90071992547409.91'].map(parseCents)).toEqual([
      1,
      100,
      110,
      1_000_000,
      435,
      Number.MAX_SAFE_INTEGER,
    ]);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        (cents) => parseCents(formatCents(cents)) === cents,
      ),
    );
  });

  it.each(['', '0', '0.00', '-1', '1.234', '1,00', '1e3', '.5', '5.', ' 1', 'NaN', '90071992547409.92'])(
    'refuses %j',
    (text) => {
      expect(() => parseCents(text)).toThrow(RangeError);
    },
  );
});

describe('parseRainOptions', () => {
  it('has the defaults of the full rain', () => {
    const options = parseRainOptions([]);
    expect(options).toMatchObject({
      users: 20_000,
      packets: 5_000,
      totalCents: 1_000_000,
      taps: 3,
      json: false,
      url: undefined,
    });
    expect(options.activityId).not.toBe(parseRainOptions([]).activityId);
  });

  it('reads every argument', () => {
    const line =
      '--users 9 --packets 3 --total 1.50 --taps 1 --concurrency 2 --seed 4 --activity a-1 --url http://h:1/ --json';
    expect(parseRainOptions(line.split(' '))).toEqual({
      users: 9,
      packets: 3,
      totalCents: 150,
      taps: 1,
      concurrency: 2,
      seed: 4,
      activityId: 'a-1',
      url: 'http://h:1',
      json: true,
    });
  });

  it('takes several processes of the app', () => {
    expect(parseRainOptions(['--url', 'http://h:1/,http://i:2']).url).toBe('http://h:1,http://i:2');
    for (const url of ['http://h:1,', 'https://h:1', 'http://h:1/path']) {
      expect(() => parseRainOptions(['--url', url])).toThrow(/Expected http URLs \(not https\) without a path/);
    }
  });

  it.each([
    '--users 0',
    '--users many',
    '--users',
    '--packets 100001',
    '--total 0',
    '--taps 1.5',
    '--concurrency 0',
    '--seed -1',
  ])('refuses %s', (line) => expect(() => parseRainOptions(line.split(' '))).toThrow(RainUsageError));

  it.each(['--url https://h', '--url h:1', '--activity a/b', '--unknown 1', 'stray', '--packets 200 --total 1.99'])(
    'refuses %s',
    (line) => expect(() => parseRainOptions(line.split(' '))).toThrow(RainUsageError),
  );
});

it('shuffles repeatably and keeps every element', () => {
  const numbers = Array.from({ length: 1_000 }, (_, index) => index);
  const once = shuffle([...numbers], seededRandom(7));
  expect(shuffle([...numbers], seededRandom(7))).toEqual(once);
  expect(shuffle([...numbers], seededRandom(8))).not.toEqual(once);
  expect([...once].sort((a, b) => a - b)).toEqual(numbers);
});

it('takes percentiles by nearest rank', () => {
  const hundred = Float64Array.from({ length: 100 }, (_, index) => index + 1);
  expect([percentile(hundred, 50), percentile(hundred, 99), percentile(new Float64Array([5]), 99)]).toEqual([
    50, 99, 5,
  ]);
  expect(percentile(new Float64Array(), 50)).toBe(0);
});

describe('auditRain', () => {
  const options = parseRainOptions([
    '--users',
    '3',
    '--packets',
    '2',
    '--total',
    '1.00',
    '--taps',
    '1',
    '--activity',
    'a',
  ]);
  const packet = (packetId: string, amountCents: number) => ({ packetId, amountCents, grantedAtMs: 1 });

  /** A rain in which all is well, with whatever a test breaks in it. */
  function play(
    breakIt: (told: Map<string, ReturnType<typeof packet> | undefined>, books: Mutable<Books>) => void = () =>
      undefined,
  ) {
    const told = new Map([
      ['u1', packet('p1', 60)],
      ['u2', packet('p2', 40)],
      ['u3', undefined],
    ]);
    const books: Mutable<Books> = {
      records: [
        { ...packet('p1', 60), userId: 'u1' },
        { ...packet('p2', 40), userId: 'u2' },
      ],
      ledger: {
        activityKey: 'a@1',
        rows: 2,
        users: 2,
        cents: 100,
        conflicts: 0,
        book: { fundedCents: 100, paidCents: 100, refundedCents: 0, owedCents: 0 },
      },
      status: {
        activityId: 'a',
        activityKey: 'a@2',
        state: 'open',
        totalCents: 100,
        packets: 2,
        remainingPackets: 0,
        remainingCents: 0,
        grantedPackets: 2,
        grantedCents: 100,
        openPayouts: 0,
        buckets: 1,
        refundedPackets: 0,
        refundedCents: 0,
        movingPackets: 0,
        movingCents: 0,
        createdAtMs: 1,
        startsAtMs: 0,
        endsAtMs: 2,
        expiresAtMs: 2,
        deadLetters: 0,
        unreportedPackets: 0,
        overdue: true,
        settled: true,
      },
    };
    breakIt(told, books);
    const players = [...told].map(([userId, got]) => ({ userId, token: 't', packet: got, taps: 1 }));
    const crowd: CrowdResult = { players, latenciesMs: new Float64Array([1, 2, 3]), tookMs: 10, oddities: [] };
    return auditRain(options, crowd, books, 0);
  }

  it('finds nothing where all is well', () => {
    const audit = play();
    expect(audit).toMatchObject({
      ok: true,
      problems: [],
      grants: 2,
      winners: 2,
      grantedCents: 100,
      paidCents: 100,
      leftCents: 0,
    });
    expect(formatAudit(audit)).toContain('Every cent and every user adds up.');
  });

  const breakages: [string, Parameters<typeof play>[0]][] = [
    [
      'a cent lost from the pool',
      (_told, books) => (books.status = { ...books.status, grantedCents: 99, remainingCents: 0 }),
    ],
    ['a packet that nobody has', (_told, books) => (books.records = books.records.slice(1))],
    ['a winner without a packet', (results) => results.set('u1', undefined)],
    ['a loser with a packet', (results) => results.set('u3', packet('p1', 60))],
    ['a winner with another amount', (results) => results.set('u1', packet('p1', 61))],
    [
      'a packet granted twice',
      (_told, books) => (books.records = books.records.map((record) => ({ ...record, packetId: 'p1' }))),
    ],
    [
      'a user who won twice',
      (_told, books) => (books.records = books.records.map((record) => ({ ...record, userId: 'u1' }))),
    ],
    [
      'a stranger among the winners',
      (told, books) => {
        told.set('u2', undefined);
        books.records = books.records.map((record, index) => (index === 1 ? { ...record, userId: 'u9' } : record));
      },
    ],
    ['a winner who was not paid', (_told, books) => (books.ledger = { ...books.ledger, rows: 1, users: 1, cents: 60 })],
    ['a cent too many paid', (_told, books) => (books.ledger = { ...books.ledger, cents: 101 })],
    ['a refused payout', (_told, books) => (books.ledger = { ...books.ledger, conflicts: 1 })],
    ['a payout that waits', (_told, books) => (books.status = { ...books.status, openPayouts: 1 })],
  ];
  it.each(breakages)('finds %s', (_name, breakIt) => {
    const audit = play(breakIt);
    expect(audit.ok).toBe(false);
    expect(audit.problems.length).toBeGreaterThan(0);
    expect(formatAudit(audit)).toContain('This does not add up:');
  });
});

it('draws a bar on a terminal and lines elsewhere', () => {
  const draw = (isTTY: boolean) => {
    const written: string[] = [];
    const onStep = progressTo({ isTTY, write: (text: string) => written.push(text) });
    for (let done = 1; done <= 1_000; done += 1) onStep('taps', done, 1_000);
    return written;
  };
  expect(draw(false)).toEqual([25, 50, 75, 100].map((percent) => `Rain          ${String(percent).padStart(3)} %\n`));
  expect(draw(true).at(-1)).toBe(`\rRain          [${'#'.repeat(30)}] 100 %\n`);
  expect(draw(true).length).toBeLessThan(140);
});

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
