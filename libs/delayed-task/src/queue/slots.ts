import { createRequire } from 'node:module';
import { InvalidInputError, type KnownOptions, shown, thrownText, time } from '../../../internal/src';
import type { ScheduleRule } from '../delayed-task.types';
import { MAX_DURATION_MS } from '../delayed-task.options';
import { taskInput } from './task-codec';

interface Instant {
  /** Offset of the time zone: local time minus UTC, minutes. */
  readonly offset: number;
  toMillis(): number;
  plus(time: { hours?: number; minutes?: number }): Instant;
}

/**
 * The part of the package `cron` that is used. It is the copy that @nestjs/schedule depends on, so that both read a cron expression in the
 * same way.
 */
interface Cron {
  readonly CronTime: new (
    source: string,
    timeZone: string,
  ) => {
    getNextDateFrom(start: Date, timeZone: string): Instant;
  };
}

/** To find a change of the clocks, such as the start of summer time, the offsets of two times this many hours apart are compared. */
const CHANGE_HOURS = 3;

let loaded: Cron | undefined;

function loadCron(): Cron {
  // The package cron is a dependency of @nestjs/schedule, so perhaps only @nestjs/schedule can find it.
  try {
    return createRequire(require.resolve('@nestjs/schedule'))('cron') as Cron;
  } catch (cause) {
    throw new InvalidInputError(
      'DelayedTaskService: A schedule with rule.cron needs the package @nestjs/schedule, which cannot be loaded. Install it, or use rule.everyMs.',
      { cause },
    );
  }
}

const KNOWN: KnownOptions<{ cron: string; timeZone: string; everyMs: number }> = {
  cron: true,
  timeZone: true,
  everyMs: true,
};

/** Checks the rule of a schedule, and fills in the default time zone. @throws InvalidInputError */
export function checkRule(given: ScheduleRule): ScheduleRule {
  const { cron, timeZone, everyMs }: { cron?: unknown; timeZone?: unknown; everyMs?: unknown } = taskInput
    .in('rule')
    .options('', given, KNOWN);
  if ((cron === undefined) === (everyMs === undefined)) {
    throw taskInput.error(
      `The rule of the schedule has ${cron === undefined ? 'neither cron nor' : 'both cron and'} everyMs. Set exactly one of the two.`,
    );
  }
  if (cron === undefined) {
    if (timeZone !== undefined)
      throw taskInput.error(
        'rule.timeZone has an effect only with rule.cron, but the rule has everyMs. Leave timeZone out.',
      );
    return { everyMs: taskInput.integer('rule.everyMs', everyMs, 1_000, MAX_DURATION_MS) };
  }
  const zone = timeZone ?? 'UTC';
  if (typeof cron !== 'string' || cron.length > 256) return taskInput.refuse('rule.cron', cron, 'a cron expression');
  if (typeof zone !== 'string' || zone === '')
    return taskInput.refuse('rule.timeZone', zone, 'a time zone such as Asia/Shanghai');
  const rule = { cron, timeZone: zone };
  try {
    nextSlot(rule, time.nowMs());
  } catch (cause) {
    if (cause instanceof InvalidInputError) throw cause;
    const [said = ''] = thrownText(cause).split('\n');
    const what = `DelayedTaskService: rule.cron is ${shown(cron)}, in the time zone ${shown(zone)}`;
    throw new InvalidInputError(`${what}. Expected an expression that the package cron accepts. Its error: ${said}`, {
      cause,
    });
  }
  return rule;
}

/**
 * Returns the first slot of a rule after a time, ms since 1970. A slot is one of the times at which a schedule creates a task. With
 * `everyMs`, the slots are its multiples, counted from 1970.
 *
 * @throws an error of the package `cron` for an expression without a slot; InvalidInputError if the package is missing
 */
export function nextSlot(rule: ScheduleRule, afterMs: number): number {
  if ('everyMs' in rule) return (Math.floor(afterMs / rule.everyMs) + 1) * rule.everyMs;
  const { cron, timeZone = 'UTC' } = rule;
  const { CronTime } = (loaded ??= loadCron());
  const found = new CronTime(cron, timeZone).getNextDateFrom(new Date(afterMs), timeZone);
  // When the clocks go back, one hour occurs twice, and `cron` may confuse the two. So if the result is not after `afterMs`, this hour is
  // added.
  const repeatedMinutes = found.offset - found.plus({ hours: CHANGE_HOURS }).offset;
  const next = found.toMillis() <= afterMs ? found.plus({ minutes: repeatedMinutes }) : found;
  const nextMs = next.toMillis();
  if (next.offset >= next.plus({ hours: -CHANGE_HOURS }).offset) return nextMs;
  // After the clocks went back, `cron` returns some times an hour too early, such as 1:30 for `30 2 * * *`. So each result is checked
  // against the expression without a time zone, and skipped if it does not match.
  const civilMs = nextMs + next.offset * 60_000;
  const isSlot = new CronTime(cron, 'UTC').getNextDateFrom(new Date(civilMs - 1), 'UTC').toMillis() === civilMs;
  return isSlot ? nextMs : nextSlot(rule, nextMs);
}
