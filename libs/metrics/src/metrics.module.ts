import { Inject, Module, type InjectionToken, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Checks, defineLuanestModule } from '../../internal/src';
import { startMetrics, type RunningMetrics } from './metrics';
import { KNOWN, resolveOptions, type MetricsOptions } from './metrics.options';

/** Options of MetricsModule. */
export interface MetricsModuleOptions extends Omit<MetricsOptions, 'tasks'> {
  /**
   * Injection token of `DelayedTaskService`. Its `stats()` is called once each time metrics are collected, and gauges show the numbers of
   * tasks by state that it returns. Default: no such gauges.
   */
  readonly tasks?: InjectionToken<Queue>;
}

type Queue = NonNullable<MetricsOptions['tasks']>;

const OPTIONS = Symbol('luanest:metrics-options');
const checks = new Checks('MetricsModule');

const MetricsModuleBase = defineLuanestModule<MetricsModuleOptions, object>({
  name: 'MetricsModule',
  optionsToken: OPTIONS,
  isGlobal: false,
  onceRemedy: () => 'Import it once, in the root module',
  resolve: (options) => {
    const { meterProvider, tracerProvider, calls, spans } = checks.options('', options, KNOWN);
    resolveOptions({ meterProvider, tracerProvider, calls, spans }, checks);
    return options;
  },
  parts: () => ({ providers: [], exports: [] }),
});

/** Records metrics until the app has shut down. Every option has a default. Import this module once in each process. */
@Module({})
export class MetricsModule extends MetricsModuleBase implements OnModuleInit, OnApplicationShutdown {
  private readonly running: RunningMetrics;

  /** Starts the metrics already in the constructor, so that they include events from before `onModuleInit` of any module. */
  constructor(
    @Inject(OPTIONS) private readonly options: MetricsModuleOptions,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
  ) {
    super();
    const { meterProvider, tracerProvider, calls, spans, tasks } = options;
    const others = { meterProvider, tracerProvider, calls, spans };
    this.running = startMetrics({ ...others, ...(tasks && { tasks: { stats: () => this.queue(tasks).stats() } }) });
  }

  /** Checks that the app provides the token of the option `tasks`. @throws an error of Nest if it does not */
  onModuleInit(): void {
    if (this.options.tasks) this.queue(this.options.tasks);
  }

  /** Stops the collection of metrics. */
  onApplicationShutdown(): void {
    this.running.stop();
  }

  private queue(token: InjectionToken<Queue>): Queue {
    return this.moduleRef.get(token, { strict: false });
  }
}
