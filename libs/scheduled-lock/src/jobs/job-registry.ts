import { SetupError } from '../../../internal/src';
import type { JobMethod } from './job';

/** The jobs and handlers with `@ScheduledLock` in this app, by name. */
export class JobRegistry {
  private readonly byName = new Map<string, JobMethod>();

  get names(): readonly string[] {
    return [...this.byName.keys()];
  }

  get all(): readonly JobMethod[] {
    return [...this.byName.values()];
  }

  /** Adds a job. @throws SetupError if another job has the same name */
  add(added: JobMethod): void {
    const { instance, method, job } = added;
    const { name } = job.options;
    if (this.byName.has(name)) {
      throw new SetupError(
        `${instance.constructor.name}.${method}: another job has the name ${name} already. Set the option name of one of the two jobs.`,
      );
    }
    this.byName.set(name, added);
  }

  /** Returns the job or handler with a name. @throws SetupError if this app has none with that name */
  named(name: string): JobMethod {
    const job = this.byName.get(name);
    if (job) return job;
    throw new SetupError(
      `ScheduledLockService: This app has no job named ${name}. Its jobs: ${this.names.join(', ') || 'none. Jobs are known once the app is initialised (app.init() or app.listen())'}.`,
    );
  }
}
