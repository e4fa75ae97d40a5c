export { startMetrics, type RunningMetrics } from './metrics';
export { MetricsModule, type MetricsModuleOptions } from './metrics.module';
export type { MetricsOptions, QueueStatsSource } from './metrics.options';
export { METRICS, type Metric, type MetricKind, type MetricName } from './metrics.table';
