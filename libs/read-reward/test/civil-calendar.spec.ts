import { DateTime, IANAZone } from 'luxon';
import { CivilCalendar, type CivilRule } from '../src/civil-calendar';
import { size } from '../../../test/support/size';

const [FROM, TO] = [Date.UTC(2020, 0, 1), Date.UTC(2036, 0, 1)];
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

// One list of names, one a row, as Intl knows them; the calculations compared with are luxon's.
const allZones = Intl.supportedValuesOf('timeZone');
const zones = allZones.filter((_, i) => i % size(80, 1) === 0);

function rule(startsAt: number, period: CivilRule['period'] = 'day', weekStartsOn = 1): CivilRule {
  return { period, dayStartsAtMinutes: startsAt, weekStartsOn };
}

/** Instants at which luxon sees the zone's offset change, to the minute. */
function transitions(zone: IANAZone): number[] {
  const found: number[] = [];
  for (let at = FROM; at < TO; at += 10 * DAY) {
    if (zone.offset(at) === zone.offset(at + 10 * DAY)) continue;
    let [low, high] = [at, at + 10 * DAY];
    while (high - low > MINUTE) {
      const middle = low + Math.floor((high - low) / 2 / MINUTE) * MINUTE;
      if (zone.offset(middle) === zone.offset(low)) low = middle;
      else high = middle;
    }
    found.push(high);
  }
  return found;
}

/** Luxon's wall time of an instant, as if it were UTC. */
const wall = (zone: IANAZone, at: number): number => at + Math.round(zone.offset(at) * MINUTE);

/**
 * Returns true if an instant is the first at which the clocks show `startsAt` of its day or later: before it they showed less,
 * and since a civil day before it they never showed as much.
 */
function isDayStart(zone: IANAZone, at: number, startsAt: number): boolean {
  const day = Math.floor((wall(zone, at) - startsAt * MINUTE) / DAY);
  const start = day * DAY + startsAt * MINUTE;
  if (wall(zone, at) < start || wall(zone, at - 1) >= start) return false;
  for (let before = at - 15 * MINUTE; before > at - 4 * HOUR; before -= 30 * MINUTE) {
    if (wall(zone, before) >= start) return false;
  }
  return true;
}

describe('civil periods', () => {
  it('are those of luxon in each zone, at every offset transition and between, from 2020 to 2035', () => {
    const wrong: unknown[] = [];
    const lengths = new Set<number>();
    for (const [i, name] of zones.entries()) {
      const zone = IANAZone.create(name);
      const samples = Array.from({ length: 4 }, (_, n) => FROM + ((n * 2_654_435_761 + i * 40_503_001) % (TO - FROM)));
      const around = transitions(zone).flatMap((at) => [at - 1, at, at + 25 * HOUR]);
      for (const startsAt of i % 2 === 0 ? [0, [150, 240, 1_410, 60][(i / 2) % 4] as number] : [0]) {
        const calendar = new CivilCalendar(rule(startsAt), name);
        for (const at of [...around, ...samples]) {
          const bounds = calendar.around(at);
          const [, start, end] = bounds;
          if (start > at || end <= at) wrong.push([name, startsAt, at, 'not around']);
          for (const bound of bounds) if (!isDayStart(zone, bound, startsAt)) wrong.push([name, startsAt, at, bound]);
          if (startsAt === 0) {
            const day = DateTime.fromMillis(start, { zone }).plus({ hours: 3 });
            // Where midnight comes twice luxon's startOf takes either; isDayStart has decided for the first.
            const begins = day.startOf('day').toMillis();
            if (begins !== start && zone.offset(begins) === zone.offset(start)) wrong.push([name, at, begins, start]);
          }
          lengths.add((end - start) / HOUR);
        }
      }
    }
    expect(wrong.slice(0, 10)).toEqual([]);
    expect(allZones.length).toBeGreaterThan(400);
    expect([...lengths]).toEqual(expect.arrayContaining([23, 24, 25]));
  });

  it('of weeks and months begin where luxon has them begin', () => {
    for (const name of ['America/New_York', 'Asia/Shanghai', 'Europe/Berlin', 'Australia/Lord_Howe', 'Pacific/Apia']) {
      const [week, month] = [new CivilCalendar(rule(0, 'week'), name), new CivilCalendar(rule(0, 'month'), name)];
      for (let at = FROM; at < TO; at += size(97, 17) * DAY + 5 * HOUR) {
        const date = DateTime.fromMillis(at, { zone: name });
        for (const [calendar, unit] of [
          [week, 'week'],
          [month, 'month'],
        ] as const) {
          const start = date.startOf(unit);
          const after = [-1, 0, 1, 2, 3].map((n) => start.plus({ [`${unit}s`]: n }).toMillis());
          expect([name, unit, at, ...calendar.around(at)]).toEqual([name, unit, at, ...after]);
        }
      }
    }
  });

  it('begin on the day and at the time that the rule says', () => {
    const sunday = new CivilCalendar(rule(240, 'week', 7), 'Europe/Berlin').around(Date.UTC(2026, 2, 29, 12));
    expect(new Date(sunday[1]).toISOString()).toBe('2026-03-29T02:00:00.000Z');
    expect(new Date(sunday[2]).toISOString()).toBe('2026-04-05T02:00:00.000Z');
    const leapt = new CivilCalendar(rule(150), 'Europe/Berlin').around(Date.UTC(2026, 2, 29, 12));
    expect(new Date(leapt[1]).toISOString()).toBe('2026-03-29T01:00:00.000Z');
    const twice = new CivilCalendar(rule(150), 'Europe/Berlin').around(Date.UTC(2026, 9, 25, 12));
    expect(new Date(twice[1]).toISOString()).toBe('2026-10-25T00:30:00.000Z');
  });
});
