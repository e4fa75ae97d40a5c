export { startMetrics, type RunningMetrics } from './metrics';
export { MetricsModule, type MetricsModuleOptions } from './metrics.module';
export type { MetricsOptions } from './metrics.options';
export { METRICS } from './metrics.definitions';
