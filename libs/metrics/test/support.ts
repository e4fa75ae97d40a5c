import {
  MeterProvider,
  MetricReader,
  type DataPoint,
  type Histogram,
  type MetricData,
} from '@opentelemetry/sdk-metrics';

class Reader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

/** A value of a counter or a gauge; of a histogram how many were recorded. */
export interface Value {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly value: number;
}

/** OpenTelemetry's own SDK, read by hand. */
export class Meters {
  private readonly reader = new Reader();
  readonly provider = new MeterProvider({ readers: [this.reader] });

  /** Everything that was kept, by name. */
  async collect(): Promise<Map<string, MetricData>> {
    const { resourceMetrics, errors } = await this.reader.collect();
    if (errors.length > 0) throw new Error(String(errors[0]));
    const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
    return new Map(all.map((metric) => [metric.descriptor.name, metric]));
  }

  async values(name: string): Promise<Value[]> {
    const points = (await this.collect()).get(name)?.dataPoints ?? [];
    return (points as DataPoint<number | Histogram>[]).map(({ attributes, value }) => ({
      attributes,
      value: typeof value === 'number' ? value : value.count,
    }));
  }
}
