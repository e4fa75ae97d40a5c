import type { Candidate } from '../nest-schedule/candidate';
import { cronOptions, hasTwoSchedulers, isTimeout } from '../nest-schedule/scheduler-metadata';

/**
 * Returns a text about a mistake in the setup of a job or handler, and how to correct it; undefined if there is no mistake.
 *
 * @param schedulers number of modules in the app that import ScheduleModule.forRoot()
 */
export function problemOf(candidate: Candidate, schedulers: number): string | undefined {
  const { lock, named, scheduled, handler, intercepted } = candidate;
  if (scheduled && intercepted) {
    return (
      'Nest runs no interceptors on scheduled methods, so ScheduledLockInterceptor would not lock this one. Use @ScheduledLock() ' +
      'on the method, and remove the interceptor from it and its class.'
    );
  }
  if (!lock) {
    if (handler && intercepted) {
      return (
        'ScheduledLockInterceptor is used on this method or on its class, but the method has no @ScheduledLock(). ' +
        'Add @ScheduledLock(), or use the interceptor only on methods that have it.'
      );
    }
    if (!named || !scheduled) return undefined;
    return 'another decorator or an override replaced the method that @ScheduledLock() locks, so the job would run without a lock. Put @ScheduledLock() on the method that is scheduled.';
  }
  if (scheduled) return schedulingProblem(candidate, schedulers) ?? scopeProblem(candidate);
  if (!handler) {
    return (
      'the method has @ScheduledLock() but no @Cron, @Interval or @Timeout, and is not a handler. Add one of these three, or ' +
      'remove @ScheduledLock().'
    );
  }
  if (!intercepted) {
    return 'the handler has @ScheduledLock(), but neither the handler nor its class has the interceptor that locks it. Add @UseInterceptors(ScheduledLockInterceptor).';
  }
  return undefined;
}

function schedulingProblem({ lock, method }: Candidate, schedulers: number): string | undefined {
  if (schedulers === 0) {
    return (
      'the job would never run, because ScheduleModule.forRoot() is not imported. Import it once. In a process that must not run ' +
      'jobs, import ScheduleModule.forRoot({ cronJobs: false, intervals: false, timeouts: false }).'
    );
  }
  if (schedulers > 1) {
    return `ScheduleModule.forRoot() is imported ${schedulers} times, so each tick would fire ${schedulers} times. Import it once.`;
  }
  if (lock && hasTwoSchedulers(method, lock.original)) {
    return 'the method has two decorators of @nestjs/schedule, and Nest would use only one of them. Give each schedule a method of its own.';
  }
  if (cronOptions(method)?.runOnInit) {
    return 'runOnInit runs the job when each process starts and not at a scheduled time, so the nodes cannot agree which one runs it. Leave runOnInit out.';
  }
  if (isTimeout(method) && lock?.options.key === undefined) {
    return 'a job with @Timeout needs the option key, and runs once for each key. Add @ScheduledLock({ key }) with a text that changes when the job must run again, such as the version of the app.';
  }
  return undefined;
}

function scopeProblem({ wrapper }: Candidate): string | undefined {
  if (wrapper.isDependencyTreeStatic() && !wrapper.isTransient && wrapper.instance) return undefined;
  return 'its class is request-scoped or transient, or depends on a request-scoped class, so the method would never be scheduled. Make the class a singleton.';
}
