import {
  ConfigurableModuleBuilder,
  Inject,
  Module,
  type DynamicModule,
  type InjectionToken,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { checkObject, checkOptions } from '../../internal/src';
import { startMetrics, type RunningMetrics } from './metrics';
import { KNOWN, type MetricsOptions, type QueueStatsSource } from './metrics.options';

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

/** Keeps metrics from when the app is made until it has shut down. Import it once a process. */
@Module({})
export class MetricsModule extends ConfigurableModuleClass implements OnModuleInit, OnApplicationShutdown {
  private readonly running: RunningMetrics;

  /**
   * Makes the module; every option has a default.
   *
   * @throws InvalidOptionError for what is no object; options that cannot work are refused when the app boots
   */
  static override forRoot(options: MetricsModuleOptions = {}): DynamicModule {
    return super.forRoot(checkObject('', options));
  }

  /** Begins to listen: what other modules do when they initialise is heard, whatever their order. */
  constructor(
    @Inject(OPTIONS) private readonly options: MetricsModuleOptions,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
  ) {
    super();
    const { meterProvider, tracerProvider, calls, spans, streams, tasks } = checkOptions('', options, KNOWN);
    const others = { meterProvider, tracerProvider, calls, spans, streams };
    this.running = startMetrics({ ...others, ...(tasks && { tasks: { stats: () => this.queue(tasks).stats() } }) });
  }

  /** @throws Error when nobody provides `tasks` */
  onModuleInit(): void {
    if (this.options.tasks) this.queue(this.options.tasks);
  }

  /** Listens no more. */
  onApplicationShutdown(): void {
    this.running.stop();
  }

  private queue(token: InjectionToken<QueueStatsSource>): QueueStatsSource {
    return this.moduleRef.get(token, { strict: false });
  }
}
