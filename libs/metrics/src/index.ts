export { startMetrics } from './metrics';
export { MetricsModule, type MetricsModuleOptions } from './metrics.module';
