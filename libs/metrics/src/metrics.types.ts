export type MetricKind = 'counter' | 'histogram' | 'gauge';

export interface Metric {
  readonly kind: MetricKind;
  /** Unit in UCUM, as OpenTelemetry requires. */
  readonly unit: string;
  readonly description: string;
  /** Names of the attributes. Every value of the metric has all these attributes, but `error.type` only after an error. */
  readonly attributes: readonly string[];
  /** Bounds of a histogram's buckets, in seconds; undefined for a counter or a gauge. */
  readonly buckets?: readonly number[];
}
