import type { Candidate } from '../nest-schedule/candidate';
import { cronOptions, hasTwoSchedulers, isTimeout } from '../nest-schedule/scheduler-metadata';

/**
 * Returns the reason why a method would run without a lock, never, or twice; undefined if it is valid.
 *
 * @param schedulers number of imports of ScheduleModule.forRoot()
 */
export function problemOf(candidate: Candidate, schedulers: number): string | undefined {
  const { lock, named, scheduled, handler, intercepted } = candidate;
  if (scheduled && intercepted) {
    return 'Nest runs no interceptors on scheduled methods, so it would run unlocked. Use @ScheduledLock() on it.';
  }
  if (!lock) {
    if (handler && intercepted) {
      return (
        'ScheduledLockInterceptor is used on it or on its class, and it has no @ScheduledLock(). ' +
        'Add it, or use the interceptor only on methods that have it.'
      );
    }
    if (!named || !scheduled) return undefined;
    return 'another decorator or an override replaced the locked method. Put @ScheduledLock() on what is scheduled.';
  }
  if (scheduled) return schedulingProblem(candidate, schedulers) ?? scopeProblem(candidate, 'scheduled');
  if (!handler) return 'it has @ScheduledLock() and no @Cron, @Interval or @Timeout. Add one of them.';
  if (!intercepted) return 'it is a handler: add @UseInterceptors(ScheduledLockInterceptor), or it runs unlocked.';
  return scopeProblem(candidate, 'found by the interceptor');
}

function schedulingProblem({ lock, method }: Candidate, schedulers: number): string | undefined {
  if (schedulers === 0) {
    return (
      'it is not scheduled. Import ScheduleModule.forRoot() once; in a process that is to run no jobs, ' +
      'ScheduleModule.forRoot({ cronJobs: false, intervals: false, timeouts: false }).'
    );
  }
  if (schedulers > 1) {
    return `ScheduleModule.forRoot() is imported ${schedulers} times, so every tick would fire as often. Import it once.`;
  }
  if (lock && hasTwoSchedulers(method, lock.original)) {
    return 'it has two schedulers, of which Nest would use one. Split the method.';
  }
  if (cronOptions(method)?.runOnInit) {
    return 'runOnInit fires at no scheduled instant, so there is no slot to run once for. Leave it out.';
  }
  if (isTimeout(method) && lock?.options.key === undefined) {
    return '@Timeout has no slots: give @ScheduledLock({ key }) a text that is new for each run, such as a version.';
  }
  return undefined;
}

function scopeProblem({ wrapper }: Candidate, what: string): string | undefined {
  if (wrapper.isDependencyTreeStatic() && !wrapper.isTransient && wrapper.instance) return undefined;
  return `it is request-scoped or transient, or depends on what is; it would never be ${what}. Make it a singleton.`;
}
