import { startMetrics } from 'luanest/metrics';

/** Without a provider, OpenTelemetry's default one accepts all measurements and drops them. */
export function useMetrics(): Promise<string> {
  const running = startMetrics({ calls: true, spans: true });
  running.stop();
  return Promise.resolve('started and stopped');
}
