import { CivilCalendar, END_OF_TIME_MS, type CivilRule } from '../src/civil-calendar';
import { RewardClock } from '../src/periods';
import { resolveOptions, type ResolvedRewardRule } from '../src/read-reward.options';

const [HOUR, DAY] = [3_600_000, 86_400_000];
const at = (text: string): number => Date.parse(text);

function boundsOf(instant: string, zone: string, rule: Partial<CivilRule>): string[] {
  const calendar = new CivilCalendar({ period: 'day', dayStartsAtMinutes: 0, weekStartsOn: 1, ...rule }, zone);
  return calendar.around(at(instant)).map((ms) => new Date(ms).toISOString().slice(0, 16));
}

describe('the periods around an instant', () => {
  it('are days that begin at a local time', () => {
    expect(boundsOf('2026-03-10T03:59Z', 'Asia/Shanghai', { dayStartsAtMinutes: 240 })).toEqual([
      ...['2026-03-08T20:00', '2026-03-09T20:00', '2026-03-10T20:00', '2026-03-11T20:00', '2026-03-12T20:00'],
    ]);
    expect(boundsOf('2026-03-09T20:00Z', 'Asia/Shanghai', { dayStartsAtMinutes: 240 })[1]).toBe('2026-03-09T20:00');
    expect(boundsOf('2026-03-09T19:59:59.999Z', 'Asia/Shanghai', { dayStartsAtMinutes: 240 })[1]).toBe(
      '2026-03-08T20:00',
    );
  });

  it('are weeks that begin on a day', () => {
    const week = { period: 'week', dayStartsAtMinutes: 60 } as const;
    expect(boundsOf('2026-03-11T12:00Z', 'UTC', { ...week, weekStartsOn: 1 })).toEqual([
      ...['2026-03-02T01:00', '2026-03-09T01:00', '2026-03-16T01:00', '2026-03-23T01:00', '2026-03-30T01:00'],
    ]);
    expect(boundsOf('2026-03-11T12:00Z', 'UTC', { ...week, weekStartsOn: 0 })[1]).toBe('2026-03-08T01:00');
    expect(boundsOf('2026-03-11T12:00Z', 'UTC', { ...week, weekStartsOn: 6 })[1]).toBe('2026-03-07T01:00');
    expect(boundsOf('2026-03-09T00:59Z', 'UTC', { ...week, weekStartsOn: 1 })[1]).toBe('2026-03-02T01:00');
  });

  it('are months', () => {
    const month = { period: 'month', dayStartsAtMinutes: 90 } as const;
    expect(boundsOf('2026-12-31T23:00Z', 'UTC', month)).toEqual([
      ...['2026-11-01T01:30', '2026-12-01T01:30', '2027-01-01T01:30', '2027-02-01T01:30', '2027-03-01T01:30'],
    ]);
    expect(boundsOf('2026-05-01T01:29Z', 'UTC', month)[1]).toBe('2026-04-01T01:30');
    expect(boundsOf('1970-01-15T00:00Z', 'UTC', month)[1]).toBe('1970-01-01T01:30');
  });

  it('follow the clock changes of a zone, also a day that it skips', () => {
    expect(boundsOf('2026-03-29T12:00Z', 'Europe/Berlin', {})).toEqual([
      ...['2026-03-27T23:00', '2026-03-28T23:00', '2026-03-29T22:00', '2026-03-30T22:00', '2026-03-31T22:00'],
    ]);
    // At 02:00 the clocks go to 03:00, so 02:30 begins at that instant.
    expect(boundsOf('2026-03-29T12:00Z', 'Europe/Berlin', { dayStartsAtMinutes: 150 })[1]).toBe('2026-03-29T01:00');
    // 02:30 comes twice. The first one counts.
    expect(boundsOf('2026-10-25T12:00Z', 'Europe/Berlin', { dayStartsAtMinutes: 150 })[1]).toBe('2026-10-25T00:30');
    expect(boundsOf('2011-12-30T09:00Z', 'Pacific/Apia', {})).toEqual([
      ...['2011-12-28T10:00', '2011-12-29T10:00', '2011-12-30T10:00', '2011-12-31T10:00', '2012-01-01T10:00'],
    ]);
    expect(boundsOf('2011-12-30T10:00Z', 'Pacific/Apia', {}).slice(0, 3)).toEqual([
      ...['2011-12-29T10:00', '2011-12-30T10:00', '2011-12-31T10:00'],
    ]);
  });

  it('are the same array within a period, and one without end for `total`', () => {
    const day = new CivilCalendar({ period: 'day', dayStartsAtMinutes: 0, weekStartsOn: 1 }, 'UTC');
    const first = day.around(5 * DAY);
    expect([day.around(5 * DAY), day.around(6 * DAY - 1)].map((one) => one === first)).toEqual([true, true]);
    expect(day.around(6 * DAY)[1]).toBe(6 * DAY);
    expect(day.around(5 * DAY - 1)[1]).toBe(4 * DAY);
    const total = new CivilCalendar({ period: 'total', dayStartsAtMinutes: 0, weekStartsOn: 1 }, 'UTC');
    expect(total.around(5)).toEqual([0, 1, END_OF_TIME_MS, END_OF_TIME_MS + 1, END_OF_TIME_MS + 2]);
  });

  it('are refused if Intl writes the time in another form', () => {
    jest.spyOn(Intl, 'DateTimeFormat').mockImplementation(() => ({ format: () => 'noon' }) as never);
    const day = new CivilCalendar({ period: 'day', dayStartsAtMinutes: 0, weekStartsOn: 1 }, 'UTC');
    expect(() => day.around(0)).toThrow('Intl.DateTimeFormat of this Node returned noon.');
    jest.restoreAllMocks();
  });

  it('cannot be computed at the end of time', () => {
    const day = new CivilCalendar({ period: 'day', dayStartsAtMinutes: 0, weekStartsOn: 1 }, 'UTC');
    expect(() => day.around(END_OF_TIME_MS - 2 * DAY)).toThrow();
  });
});

describe("the estimate of Redis' clock", () => {
  const { rules } = resolveOptions({ rules: { r: { limit: 3, timeZone: 'UTC' }, t: { limit: 3, period: 'total' } } });
  const all = [...(rules as unknown as Map<string, never> | never[]).values()];
  const [rule, total] = all as [never, never];
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('moves the periods', () => {
    jest.spyOn(Date, 'now').mockReturnValue(10 * DAY);
    const clock = new RewardClock();
    expect(clock.around(rule, undefined).bounds[1]).toBe(10 * DAY);
    expect(clock.synchronize(12 * DAY + HOUR)).toBe(2 * DAY + HOUR);
    expect(clock.around(rule, undefined).bounds[1]).toBe(12 * DAY);
    expect(clock.around(rule, 'Asia/Shanghai').bounds[1]).toBe(12 * DAY - 8 * HOUR);
    expect(clock.synchronize(9 * DAY)).toBe(-DAY);
    expect(clock.around(rule, 'UTC').bounds[1]).toBe(9 * DAY);
  });

  it('keeps the periods of each rule and zone', () => {
    jest.spyOn(Date, 'now').mockReturnValue(10 * DAY);
    const clock = new RewardClock();
    const [utc, shanghai] = [clock.around(rule, undefined), clock.around(rule, 'Asia/Shanghai')];
    expect(clock.around(rule, 'UTC')).toBe(utc);
    expect(clock.around(rule, 'Asia/Shanghai')).toBe(shanghai);
    expect(clock.around(rule, 'Asia/Tokyo').bounds[1]).toBe(10 * DAY - 9 * HOUR);
    const { current, gapMs, mark } = utc;
    expect([gapMs, current.startsWith(`${10 * DAY}:${11 * DAY}:${12 * DAY}:`)]).toEqual([DAY, true]);
    expect([mark, shanghai.mark, clock.around(total, undefined).mark].every(Number.isInteger)).toBe(true);
    expect(new Set([mark, shanghai.mark, clock.around(rule, 'Asia/Tokyo').mark]).size).toBe(3);
  });

  it('has the settings of the rule, and the retention of a rule without periods', () => {
    jest.spyOn(Date, 'now').mockReturnValue(10 * DAY);
    const clock = new RewardClock();
    const { limit, pointsPerItem, capPoints, retentionMs } = rule as ResolvedRewardRule;
    expect(retentionMs).toBeGreaterThan(0);
    const days = [9, 10, 11, 12, 13].map((day) => day * DAY);
    expect(clock.around(rule, undefined).rule).toBe([limit, pointsPerItem, capPoints, 0, ...days].join(':'));
    const { bounds, rule: text } = clock.around(total, undefined);
    const kept = (total as ResolvedRewardRule).retentionMs;
    expect(text).toBe([limit, pointsPerItem, capPoints, kept, ...bounds].join(':'));
  });

  it('marks each pair of rule and zone by itself, so that a hint of one does not hold for another', () => {
    const clock = new RewardClock();
    const [same, utc] = [{ ...(rule as object), name: 'same' } as never, 'Etc/UTC'];
    const marks = [clock.around(rule, undefined), clock.around(rule, utc), clock.around(same, undefined)];
    expect(new Set(marks.map(({ mark }) => mark)).size).toBe(3);
  });

  it('keeps the calendars of 1,024 pairs of rule and zone, and then begins again', () => {
    const clock = new RewardClock();
    const periodsOf = (i: number) => clock.around({ ...(rule as object), name: `r${i}` } as never, 'Asia/Shanghai');
    const first = periodsOf(0);
    for (let i = 1; i < 1_024; i++) periodsOf(i);
    expect(periodsOf(0)).toBe(first);
    periodsOf(1_024);
    expect(periodsOf(0)).not.toBe(first);
  });

  it('refuses zones that do not exist', () => {
    const clock = new RewardClock();
    expect(() => clock.around(rule, 'Moon/Base')).toThrow(
      'timeZone is "Moon/Base". Expected a zone of the IANA database',
    );
    expect(() => clock.around(rule, 5 as never)).toThrow('timeZone is 5. Expected');
    try {
      clock.around(rule, 'Moon/Base');
    } catch (error) {
      expect((error as Error).cause).toBeInstanceOf(RangeError);
    }
    expect.assertions(3);
  });
});
