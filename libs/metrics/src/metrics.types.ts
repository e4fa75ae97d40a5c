export type MetricKind = 'counter' | 'histogram' | 'gauge';

export interface Metric {
  readonly kind: MetricKind;
  /** Unit in the notation UCUM, which OpenTelemetry requires, such as `s` or `{call}`. */
  readonly unit: string;
  readonly description: string;
  /** Names of the attributes that each value of the metric has, except for `error.type`: only values for errors have it. */
  readonly attributes: readonly string[];
  /** Bounds of a histogram's buckets, in seconds; undefined for a counter or a gauge. */
  readonly buckets?: readonly number[];
}
