import {
  ConfigurableModuleBuilder,
  Inject,
  Module,
  type InjectionToken,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { startMetrics, type RunningMetrics } from './metrics';
import type { MetricsOptions, QueueStatsSource } from './metrics.options';

/** Options of MetricsModule. */
export interface MetricsModuleOptions extends Omit<MetricsOptions, 'tasks'> {
  /** `DelayedTaskService`, for gauges of its queue; one call to Redis each time that metrics are collected. Default: none. */
  readonly tasks?: InjectionToken<QueueStatsSource>;
}

const OPTIONS = Symbol('luanest:metrics-options');

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<MetricsModuleOptions>({
  optionsInjectionToken: OPTIONS,
})
  .setClassMethodName('forRoot')
  .build();

/** Keeps metrics from when the app initialises until it has shut down. Import it once a process, first. */
@Module({})
export class MetricsModule extends ConfigurableModuleClass implements OnModuleInit, OnApplicationShutdown {
  private running: RunningMetrics | undefined;

  constructor(
    @Inject(OPTIONS) private readonly options: MetricsModuleOptions,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
  ) {
    super();
  }

  /** Begins to listen. @throws InvalidOptionError */
  onModuleInit(): void {
    const { tasks, ...options } = this.options;
    if (tasks === undefined) this.running = startMetrics(options);
    else this.running = startMetrics({ ...options, tasks: this.moduleRef.get(tasks, { strict: false }) });
  }

  /** Listens no more. */
  onApplicationShutdown(): void {
    this.running?.stop();
  }
}
