export { startMetrics, type RunningMetrics } from './metrics';
export { MetricsModule, type MetricsModuleOptions } from './metrics.module';
export type { MetricsOptions, QueueStatsSource } from './metrics.options';
export { METRICS, type MetricName } from './metrics.definitions';
export type { Metric, MetricKind } from './metrics.types';
