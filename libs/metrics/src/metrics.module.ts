import { Inject, Module, type InjectionToken, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Checks, defineLuanestModule } from '../../internal/src';
import { startMetrics, type RunningMetrics } from './metrics';
import { KNOWN, resolveOptions, type MetricsOptions, type QueueStatsSource } from './metrics.options';

/** Options of MetricsModule. */
export interface MetricsModuleOptions extends Omit<MetricsOptions, 'tasks'> {
  /** Injection token of `DelayedTaskService`, for gauges of its queue: one call to Redis per collection. Default: no gauges. */
  readonly tasks?: InjectionToken<QueueStatsSource>;
}

const OPTIONS = Symbol('luanest:metrics-options');
const checks = new Checks('MetricsModule');

const MetricsModuleBase = defineLuanestModule<MetricsModuleOptions, object>({
  name: 'MetricsModule',
  optionsToken: OPTIONS,
  isGlobal: false,
  resolve: (options) => {
    const { meterProvider, tracerProvider, calls, spans, streams } = checks.options('', options, KNOWN);
    resolveOptions({ meterProvider, tracerProvider, calls, spans, streams }, checks);
    return options;
  },
  parts: () => ({ providers: [], exports: [] }),
});

/** Module that records metrics until the app has shut down. Every option has a default. Import it once per process. */
@Module({})
export class MetricsModule extends MetricsModuleBase implements OnModuleInit, OnApplicationShutdown {
  private readonly running: RunningMetrics;

  /** Subscribes in the constructor, so that events of other modules' initialisation are counted, in any order of modules. */
  constructor(
    @Inject(OPTIONS) private readonly options: MetricsModuleOptions,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
  ) {
    super();
    const { meterProvider, tracerProvider, calls, spans, streams, tasks } = options;
    const others = { meterProvider, tracerProvider, calls, spans, streams };
    this.running = startMetrics({ ...others, ...(tasks && { tasks: { stats: () => this.queue(tasks).stats() } }) });
  }

  /** @throws Error if the app does not provide `tasks` */
  onModuleInit(): void {
    if (this.options.tasks) this.queue(this.options.tasks);
  }

  /** Unsubscribes. */
  onApplicationShutdown(): void {
    this.running.stop();
  }

  private queue(token: InjectionToken<QueueStatsSource>): QueueStatsSource {
    return this.moduleRef.get(token, { strict: false });
  }
}
