import type { Attributes, ObservableResult } from '@opentelemetry/api';

interface Row {
  readonly attributes: Attributes;
  value: number;
}

/**
 * What a counter has counted, by its attributes. It is read when metrics are collected: to find the row of a value here
 * costs a fraction of what a counter of OpenTelemetry's takes to find its own.
 */
export class Sums {
  private readonly rows = new Map<string, Row>();

  constructor(private readonly names: readonly string[]) {}

  add(attributes: Readonly<Record<string, string | undefined>>, value: number): void {
    let key = '';
    for (const name of this.names) key += `${attributes[name] ?? ''}\n`;
    const row = this.rows.get(key);
    if (row) row.value += value;
    else this.rows.set(key, { attributes: { ...attributes }, value });
  }

  show(result: ObservableResult): void {
    for (const { attributes, value } of this.rows.values()) result.observe(value, attributes);
  }
}
