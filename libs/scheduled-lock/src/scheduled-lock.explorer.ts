import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, ModulesContainer } from '@nestjs/core';
import type { ScriptRegistry } from 'luanest/script-registry';
import { exploreMethods, type Wrapper, SetupError } from '../../internal/src';
import { candidateOf, type Candidate } from './nest-schedule/candidate';
import { refuseDeadOptions } from './boot/unused-options';
import { kindOf } from './nest-schedule/job-kind';
import type { CronJobs } from './nest-schedule/live-cron';
import { problemOf } from './boot/validate-candidate';
import { isScheduleExplorer, isSchedulerRegistry } from './nest-schedule/scheduler-classes';
import { retentionOf, type Job } from './jobs/job';
import { JobRegistry } from './jobs/job-registry';
import { lockService, type LockedMethod } from './scheduled-lock.decorator';
import { resolveJobOptions, type ResolvedScheduledLockModuleOptions } from './scheduled-lock.options';
import { ScheduledLockService } from './scheduled-lock.service';

/** Finds the jobs and handlers with `@ScheduledLock` when the app boots. Throws an error if one of them cannot work. */
@Injectable()
export class ScheduledLockExplorer implements OnModuleInit {
  private readonly seen = new Map<object, Set<string>>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly modules: ModulesContainer,
    private readonly registry: ScriptRegistry,
    private readonly jobs: JobRegistry,
    private readonly service: ScheduledLockService,
    private readonly options: ResolvedScheduledLockModuleOptions,
  ) {}

  /** @throws SetupError or InvalidOptionError that names the class and the method */
  onModuleInit(): void {
    const schedulers = this.providersThat(isScheduleExplorer).length;
    // The scheduler also runs the jobs of an alias (`useExisting`), so aliases are explored, too.
    for (const found of exploreMethods(this.discovery, this.scanner, { aliases: true })) {
      const candidate = candidateOf(found);
      const why = problemOf(candidate, schedulers) ?? this.seenBefore(candidate);
      if (why !== undefined) throw new SetupError(`${candidate.where}: ${why}`);
      if (candidate.lock) this.add(candidate, candidate.lock);
    }
  }

  private seenBefore({ lock, prototype, name }: Candidate): string | undefined {
    if (!lock) return undefined;
    const methods = this.seen.get(prototype) ?? new Set();
    if (methods.has(name)) {
      return 'its class is provided twice (by two modules, or with an alias), so Nest would fire the job twice at each scheduled time. Provide the class once.';
    }
    this.seen.set(prototype, methods.add(name));
    return undefined;
  }

  private add({ wrapper, name, method, where }: Candidate, { original, options: given }: LockedMethod): void {
    const instance = wrapper.instance as object;
    const kind = kindOf(method, () => this.providersThat(isSchedulerRegistry).map((one) => one.instance as CronJobs));
    const options = resolveJobOptions(given, where, this.options);
    refuseDeadOptions(`@ScheduledLock on ${where}`, given, options, kind);
    const tag = this.registry.keySpace('scheduled-lock').tag(`${this.options.namespace}:${options.name}`);
    const job: Job = {
      options,
      kind,
      state: kind.type === 'timeout' ? tag.key('state', options.key as string) : tag.key('state'),
      history: tag.key('history'),
      retentionMs: retentionOf(kind, options, this.options.retentionMs),
    };
    // Nest does not inject properties into objects of a `useFactory`, so they get the service here.
    lockService.give(instance, this.service);
    this.jobs.add({ instance, method: name, job, original });
  }

  private providersThat(are: (token: unknown) => boolean): Wrapper[] {
    const found = [...this.modules.values()].flatMap(({ providers }) =>
      [...providers].flatMap(([token, wrapper]) => (are(token) ? [wrapper] : [])),
    );
    return found.filter((wrapper, i) => found.findIndex(({ instance }) => instance === wrapper.instance) === i);
  }
}
