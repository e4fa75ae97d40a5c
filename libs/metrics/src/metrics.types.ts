/** How a metric is kept. */
export type MetricKind = 'counter' | 'histogram' | 'gauge';

/** What a metric is. */
export interface Metric {
  readonly kind: MetricKind;
  /** UCUM, as OpenTelemetry wants it. */
  readonly unit: string;
  readonly description: string;
  /** Names of its attributes, all of them on every value. */
  readonly attributes: readonly string[];
  /** Bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
}
