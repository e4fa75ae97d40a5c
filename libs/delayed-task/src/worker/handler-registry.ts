import { Checks, type KnownOptions, shown, SetupError } from '../../../internal/src';
import type { ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { HandlerOptions, TaskDefinition, TaskHandler } from '../delayed-task.types';

export interface Handler {
  readonly run: TaskHandler;
  readonly timeoutMs: number;
}

const KNOWN: KnownOptions<HandlerOptions> = { timeoutMs: true };
const checks = new Checks('DelayedTaskService.process');

export class Handlers {
  private readonly byName = new Map<string, Handler>();

  constructor(private readonly options: Pick<ResolvedDelayedTaskOptions, 'timeoutMs' | 'namespace'>) {}

  get empty(): boolean {
    return this.byName.size === 0;
  }

  /** Adds a handler. @throws SetupError if it is not a function, or the name has a handler; InvalidOptionError */
  add({ name, timeoutMs: definedMs }: TaskDefinition, run: TaskHandler, options: HandlerOptions): void {
    if (typeof run !== 'function') {
      throw new SetupError(`The handler of task ${shown(name)} is ${shown(run)}. Expected a function.`);
    }
    if (this.byName.has(name)) {
      throw new SetupError(
        `Task ${shown(name)} has two handlers in queue ${this.options.namespace}. ` +
          `Expected one. Remove a handler, rename one of the tasks, or provide the class of the handler once.`,
      );
    }
    checks.options('', options, KNOWN);
    const timeoutMs = checks.integer('timeoutMs', options.timeoutMs ?? definedMs ?? this.options.timeoutMs, 1);
    this.byName.set(name, { run, timeoutMs });
  }

  of(name: string): Handler | undefined {
    return this.byName.get(name);
  }
}
