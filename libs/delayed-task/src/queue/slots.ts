import { createRequire } from 'node:module';
import { InvalidInputError, type KnownOptions, shown, thrownText, time } from '../../../internal/src';
import type { ScheduleRule } from '../delayed-task.types';
import { MAX_DURATION_MS } from '../delayed-task.options';
import { taskInput } from './task-codec';

/** The part of luxon's DateTime that is used. */
interface Instant {
  /** Civil time minus UTC, minutes. */
  readonly offset: number;
  toMillis(): number;
  plus(time: { hours?: number; minutes?: number }): Instant;
}

/**
 * The part of the package `cron` that is used. It is the copy that @nestjs/schedule depends on, so queues and @nestjs/schedule read an
 * expression in the same way.
 */
interface Cron {
  readonly CronTime: new (
    source: string,
    timeZone: string,
  ) => {
    getNextDateFrom(start: Date, timeZone: string): Instant;
  };
}

/** Longer than any change of the clocks, hours. */
const CHANGE_HOURS = 3;

let loaded: Cron | undefined;

function loadCron(): Cron {
  // The package is optional. It is a dependency of @nestjs/schedule, so it may not be found from here.
  try {
    return createRequire(require.resolve('@nestjs/schedule'))('cron') as Cron;
  } catch (cause) {
    throw new InvalidInputError('A schedule with cron needs @nestjs/schedule. Install it, or use everyMs.', { cause });
  }
}

const KNOWN: KnownOptions<{ cron: string; timeZone: string; everyMs: number }> = {
  cron: true,
  timeZone: true,
  everyMs: true,
};

/** Checks a rule, and fills in the time zone. @throws InvalidInputError */
export function checkRule(given: ScheduleRule): ScheduleRule {
  const { cron, timeZone, everyMs }: { cron?: unknown; timeZone?: unknown; everyMs?: unknown } = taskInput
    .in('rule')
    .options('', given, KNOWN);
  if ((cron === undefined) === (everyMs === undefined)) {
    throw taskInput.error(
      `rule has ${cron === undefined ? 'neither cron nor' : 'both cron and'} everyMs. Give one of them.`,
    );
  }
  if (cron === undefined) {
    if (timeZone !== undefined) throw taskInput.error('rule.timeZone belongs to cron. Leave it out with everyMs.');
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
    throw new InvalidInputError(`${what}. The package cron refuses it: ${said}`, { cause });
  }
  return rule;
}

/**
 * Returns the first slot of a rule after an instant, ms since 1970. Slots of `everyMs` are its multiples since 1970.
 *
 * @throws an error of the package `cron` for an expression without a slot; InvalidInputError if the package is missing
 */
export function nextSlot(rule: ScheduleRule, afterMs: number): number {
  if ('everyMs' in rule) return (Math.floor(afterMs / rule.everyMs) + 1) * rule.everyMs;
  const { cron, timeZone = 'UTC' } = rule;
  const { CronTime } = (loaded ??= loadCron());
  const found = new CronTime(cron, timeZone).getNextDateFrom(new Date(afterMs), timeZone);
  // When the clocks go back, an hour comes twice. `cron` may take the first one for the second one, depending on this process' clock.
  const repeatedMinutes = found.offset - found.plus({ hours: CHANGE_HOURS }).offset;
  const next = found.toMillis() <= afterMs ? found.plus({ minutes: repeatedMinutes }) : found;
  const nextMs = next.toMillis();
  if (next.offset >= next.plus({ hours: -CHANGE_HOURS }).offset) return nextMs;
  // After the clocks went back, `cron` also returns the slot of the next hour an hour before its time: 1:30 for `30 2 * * *`.
  const civilMs = nextMs + next.offset * 60_000;
  const isSlot = new CronTime(cron, 'UTC').getNextDateFrom(new Date(civilMs - 1), 'UTC').toMillis() === civilMs;
  return isSlot ? nextMs : nextSlot(rule, nextMs);
}
