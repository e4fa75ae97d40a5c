import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, ExternalContextCreator, MetadataScanner, ModulesContainer } from '@nestjs/core';
import type { ScriptRegistry } from 'luanest/script-registry';
import { latestSlot, type CronTimes, type Job, type JobKind } from './job';
import { lockedMethod, lockedMethodNames } from './scheduled-lock.decorator';
import { ScheduledLockSetupError } from './scheduled-lock.errors';
import { ScheduledLockInterceptor } from './scheduled-lock.interceptor';
import { resolveJobOptions, type ResolvedScheduledLockModuleOptions } from './scheduled-lock.options';
import { ScheduledLockService } from './scheduled-lock.service';

type Method = ((...args: unknown[]) => unknown) & object;
type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

// Names under which @nestjs/schedule keeps its metadata; equal in all versions of the peer range.
const TYPE = 'SCHEDULER_TYPE';
const KINDS = ['SCHEDULE_CRON_OPTIONS', 'SCHEDULE_TIMEOUT_OPTIONS', 'SCHEDULE_INTERVAL_OPTIONS'] as const;
const [CRON, TIMEOUT, INTERVAL] = KINDS;
const INTERCEPTORS = '__interceptors__';
const HANDLERS = ['path', 'microservices:pattern', 'microservices:handler_type'];

interface CronOptions {
  readonly cronTime: unknown;
  readonly timeZone?: string;
  readonly utcOffset?: string | number;
  readonly runOnInit?: boolean;
}

/** Finds decorated jobs at boot, and refuses each that would run unlocked, never, or twice. */
@Injectable()
export class ScheduledLockExplorer implements OnModuleInit {
  private readonly seen = new Map<object, Set<string>>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly modules: ModulesContainer,
    private readonly contexts: ExternalContextCreator,
    private readonly registry: ScriptRegistry,
    private readonly service: ScheduledLockService,
    private readonly options: ResolvedScheduledLockModuleOptions,
  ) {}

  /** @throws ScheduledLockSetupError naming class and method */
  onModuleInit(): void {
    for (const wrapper of [...this.discovery.getControllers(), ...this.discovery.getProviders()]) {
      const prototype = prototypeOf(wrapper);
      if (!prototype) continue;
      const locked = new Set(lockedMethodNames(prototype));
      for (const name of this.scanner.getAllMethodNames(prototype)) {
        const method = methodOf(prototype, name);
        if (method) this.inspect(wrapper, prototype, name, method, locked.has(name));
      }
    }
  }

  private inspect(wrapper: Wrapper, prototype: object, name: string, method: Method, listed: boolean): void {
    const where = `${prototype.constructor.name}.${name}`;
    const refuse = (why: string): never => {
      throw new ScheduledLockSetupError(`${where}: ${why}`);
    };
    const lock = lockedMethod(method);
    const type = Reflect.getMetadata(TYPE, method) as number | undefined;
    const intercepted = [method, prototype.constructor].some((place) => usesInterceptor(place));
    const handler = HANDLERS.some((key) => Reflect.hasMetadata(key, method));
    if (type !== undefined && intercepted) {
      refuse('Nest runs no interceptors on scheduled methods, so it would run unlocked. Use @ScheduledLock() on it.');
    }
    if (!lock) {
      if (listed && type !== undefined) {
        refuse(
          'another decorator or an override replaced the locked method. Put @ScheduledLock() on what is scheduled.',
        );
      }
      return;
    }
    if (handler && type === undefined) {
      if (!intercepted) refuse('it is a handler: add @UseInterceptors(ScheduledLockInterceptor), or it runs unlocked.');
    } else {
      this.checkScheduled(type, lock.original, method, refuse);
    }
    if (!wrapper.isDependencyTreeStatic() || !wrapper.instance) {
      refuse(
        'it is request-scoped or transient, or depends on what is; it would never be scheduled. Make it a singleton.',
      );
    }
    const instance = wrapper.instance as object;
    this.checkTwice(instance, prototype, name, refuse);
    this.addJob(instance, name, lock.original, method, where, refuse);
  }

  private checkScheduled(
    type: number | undefined,
    original: Method,
    method: Method,
    refuse: (why: string) => never,
  ): void {
    if (type === undefined) refuse('it has @ScheduledLock() and no @Cron, @Interval or @Timeout. Add one of them.');
    const explorers = this.providersNamed('ScheduleExplorer').length;
    if (explorers === 0) refuse('it is not scheduled. Import ScheduleModule.forRoot() once.');
    if (explorers > 1) {
      refuse(
        `ScheduleModule.forRoot() is imported ${explorers} times, so every tick would fire as often. Import it once.`,
      );
    }
    const kinds = KINDS.filter((key) => Reflect.hasMetadata(key, method));
    const above = method !== original && Reflect.hasOwnMetadata(TYPE, method);
    if (kinds.length > 1 || (above && Reflect.hasOwnMetadata(TYPE, original))) {
      refuse('it has two schedulers, of which Nest would use one. Split the method.');
    }
  }

  private checkTwice(instance: object, prototype: object, name: string, refuse: (why: string) => never): void {
    const methods = this.seen.get(prototype) ?? new Set();
    if (methods.has(name)) {
      refuse(
        'its class is provided twice (two modules, or an alias), so every tick would fire twice. Provide it once.',
      );
    }
    this.seen.set(prototype, methods.add(name));
    void instance;
  }

  private addJob(
    instance: object,
    name: string,
    original: Method,
    method: Method,
    where: string,
    refuse: (why: string) => never,
  ): void {
    const options = resolveJobOptions(lockedMethod(method)?.options ?? {}, where, this.options);
    const kind = this.kindOf(method, refuse);
    if (kind.type === 'timeout' && options.key === undefined) {
      refuse('@Timeout has no slots: give @ScheduledLock({ key }) a text that is new for each run, such as a version.');
    }
    const tag = this.registry.keySpace('scheduled-lock').tag(`${this.options.namespace}:${options.name}`);
    const job: Job = {
      options,
      kind,
      state: kind.type === 'timeout' ? tag.key('state', options.key as string) : tag.key('state'),
      history: tag.key('history'),
      enhanced: options.enhancers ? this.enhance(instance, original, name) : undefined,
    };
    this.service.add(instance, name, job);
    if (options.catchUpWithinMs > 0) {
      this.service.catchUp(job, () => (job.enhanced ? job.enhanced() : original.call(instance)));
    }
  }

  private kindOf(method: Method, refuse: (why: string) => never): JobKind {
    const cron = Reflect.getMetadata(CRON, method) as CronOptions | undefined;
    if (cron) {
      if (cron.runOnInit)
        refuse('runOnInit fires at no scheduled instant, so there is no slot to run once for. Leave it out.');
      const zone = zoneOf(cron);
      let times: CronTimes | undefined;
      return {
        type: 'cron',
        slotNow: () => latestSlot((times ??= this.cronTimes(cron)), Date.now(), zone),
      };
    }
    const interval = Reflect.getMetadata(INTERVAL, method) as { timeout: number } | undefined;
    if (interval) return { type: 'interval', periodMs: interval.timeout };
    return { type: Reflect.hasMetadata(TIMEOUT, method) ? 'timeout' : 'handler' };
  }

  /** A CronTime of the scheduler's own cron package, found through a job that it registered: ours at the latest. */
  private cronTimes({ cronTime, timeZone, utcOffset }: CronOptions): CronTimes {
    for (const { instance } of this.providersNamed('SchedulerRegistry')) {
      const jobs = (instance as { getCronJobs(): Map<string, { cronTime: object }> }).getCronJobs();
      for (const { cronTime: known } of jobs.values()) {
        const CronTime = known.constructor as new (source: unknown, zone?: unknown, offset?: unknown) => CronTimes;
        return new CronTime(cronTime, timeZone ?? null, timeZone === undefined ? (utcOffset ?? null) : null);
      }
    }
    throw new ScheduledLockSetupError('The scheduler has no cron job yet, so the slot of this call is not known.');
  }

  private providersNamed(name: string): Wrapper[] {
    return [...this.modules.values()]
      .flatMap((module) =>
        [...module.providers.entries()].flatMap(([token, wrapper]) =>
          typeof token === 'function' && token.name === name ? [wrapper] : [],
        ),
      )
      .filter((wrapper, i, all) => all.findIndex(({ instance }) => instance === wrapper.instance) === i);
  }

  private enhance(instance: object, original: Method, name: string): (...args: unknown[]) => Promise<unknown> {
    const options = { guards: true, interceptors: true, filters: true };
    return this.contexts.create(
      instance,
      original,
      name,
      undefined,
      undefined,
      undefined,
      undefined,
      options,
      'cron',
    ) as (...args: unknown[]) => Promise<unknown>;
  }
}

function prototypeOf({ instance, metatype }: Wrapper): object | undefined {
  const object = instance as object | null | undefined;
  if (object !== null && object !== undefined && typeof object === 'object') {
    return (Object.getPrototypeOf(object) as object | null) ?? undefined;
  }
  return typeof metatype === 'function' ? (metatype.prototype as object | undefined) : undefined;
}

function methodOf(prototype: object, name: string): Method | undefined {
  for (let at: object | null = prototype; at; at = Object.getPrototypeOf(at) as object | null) {
    const descriptor = Object.getOwnPropertyDescriptor(at, name);
    if (descriptor) return typeof descriptor.value === 'function' ? (descriptor.value as Method) : undefined;
  }
  return undefined;
}

function usesInterceptor(place: object): boolean {
  const used = (Reflect.getMetadata(INTERCEPTORS, place) ?? []) as unknown[];
  return used.some((one) => one === ScheduledLockInterceptor || one instanceof ScheduledLockInterceptor);
}

function zoneOf({ timeZone, utcOffset }: CronOptions): string | undefined {
  if (timeZone !== undefined || utcOffset === undefined) return timeZone;
  if (typeof utcOffset === 'string') return `UTC${utcOffset}`;
  const minutes = Math.abs(utcOffset) >= 60 ? utcOffset : utcOffset * 60;
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? '-' : '+'}${Math.floor(size / 60)}:${String(size % 60).padStart(2, '0')}`;
}
