import type { Histogram, Meter, ObservableResult } from '@opentelemetry/api';
import { TABLE, type AttributesOf, type MetricName, type MetricOf } from './metrics.definitions';
import type { Metric } from './metrics.types';
import { Sums } from './counter-sums';

/** Function that reads the values of a gauge, and passes each to `show`. */
type Observe<N extends MetricOf<'gauge'>> = (
  show: (value: number, attributes: AttributesOf<N>) => void,
) => void | Promise<void>;

/** Records metrics with OpenTelemetry. A counter or histogram is created when it gets its first value. */
export class Recorder {
  private readonly sums = new Map<MetricName, Sums>();
  private readonly histograms = new Map<MetricName, Histogram>();
  private readonly undo: (() => void)[] = [];

  constructor(private readonly meter: Meter) {}

  add<N extends MetricOf<'counter'>>(name: N, attributes: AttributesOf<N>, value = 1): void {
    let sums = this.sums.get(name);
    if (!sums) {
      sums = new Sums(TABLE[name].attributes);
      this.sums.set(name, sums);
      this.watchSums(name, sums);
    }
    sums.add(attributes, value);
  }

  record<N extends MetricOf<'histogram'>>(name: N, attributes: AttributesOf<N>, value: number): void {
    let histogram = this.histograms.get(name);
    if (!histogram) {
      const { unit, description, buckets } = TABLE[name];
      const advice = { explicitBucketBoundaries: [...buckets] };
      histogram = this.meter.createHistogram(name, { unit, description, advice });
      this.histograms.set(name, histogram);
    }
    histogram.record(value, attributes);
  }

  /** Creates a gauge. Each time metrics are collected, `observe` is called, and passes the values of the gauge to its argument `show`. */
  watch<N extends MetricOf<'gauge'>>(name: N, observe: Observe<N>): void {
    const { unit, description }: Metric = TABLE[name];
    const gauge = this.meter.createObservableGauge(name, { unit, description });
    const callback = (result: ObservableResult): void | Promise<void> =>
      observe((value, attributes) => result.observe(value, attributes));
    gauge.addCallback(callback);
    this.undo.push(() => gauge.removeCallback(callback));
  }

  close(): void {
    for (const undo of this.undo.splice(0)) undo();
  }

  private watchSums(name: MetricOf<'counter'>, sums: Sums): void {
    const { unit, description } = TABLE[name];
    const counter = this.meter.createObservableCounter(name, { unit, description });
    const callback = (result: ObservableResult): void => sums.show(result);
    counter.addCallback(callback);
    this.undo.push(() => counter.removeCallback(callback));
  }
}
