/** Kind of an OpenTelemetry instrument. */
export type MetricKind = 'counter' | 'histogram' | 'gauge';

/** Definition of a metric. */
export interface Metric {
  readonly kind: MetricKind;
  /** Unit in UCUM, as OpenTelemetry requires. */
  readonly unit: string;
  readonly description: string;
  /** Names of the attributes. Every value has all of them. */
  readonly attributes: readonly string[];
  /** Bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
}
