import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DelayedTaskEvents } from 'luanest/delayed-task';
import { LockEvents } from 'luanest/lock';
import { OnceEvents } from 'luanest/once';
import { OutboxEvents } from 'luanest/outbox';
import { RateLimitEvents } from 'luanest/rate-limit';
import { ReadRewardEvents } from 'luanest/read-reward';
import { ScheduledLockEvents } from 'luanest/scheduled-lock';
import { ScriptRegistryEvents } from 'luanest/script-registry';
import { StreamConsumerEvents } from 'luanest/stream-consumer';
import { startMetrics } from '../src/metrics';
import { METRICS } from '../src/metrics.definitions';
import type { Metric } from '../src/metrics.types';
import { Subscriptions } from '../src/subscriptions';
import { Meters } from './support';

const table: Readonly<Record<string, Metric>> = METRICS;

/** Rows of the README's table: name, kind, unit, attributes and description. */
function documented(): string[] {
  const readme = readFileSync(join(__dirname, '..', 'README.md'), 'utf8');
  return [...readme.matchAll(/^\| `(luanest\.[a-z_.]+)` +\| (\w+) +\| `([^`]+)` +\| (.*?) +\| (.*?) +\|$/gm)].map(
    ([, name, kind, unit, attributes = '', description]) =>
      [name, kind, unit, [...attributes.matchAll(/`([^`]+)`/g)].map(([, word]) => word).join(' '), description].join(
        ' | ',
      ),
  );
}

describe('the table of metrics', () => {
  it('is the same in the README', () => {
    const rows = Object.entries(table).map(([name, { kind, unit, attributes, description }]) =>
      [name, kind, unit, attributes.join(' '), description].join(' | '),
    );
    expect(documented()).toEqual(rows);
  });

  it('follows the conventions for names, units and attributes', () => {
    for (const [name, { unit, attributes, kind, buckets }] of Object.entries(table)) {
      expect(name).toMatch(/^luanest(\.[a-z]+(_[a-z]+)*){2,3}$/);
      expect(unit).toMatch(/^(s|\{[a-z]+\})$/);
      for (const attribute of attributes) expect(attribute).toMatch(/^(error\.type|luanest(\.[a-z]+(_[a-z]+)*){1,3})$/);
      expect(buckets !== undefined).toBe(kind === 'histogram');
      expect([...(buckets ?? [])].sort((a, b) => a - b)).toEqual(buckets ?? []);
    }
  });

  it('covers every channel of the libs, except two that add nothing', () => {
    const listened = new Set<string>();
    const on = jest.spyOn(Subscriptions.prototype, 'on').mockImplementation((channel) => void listened.add(channel));
    startMetrics({ meterProvider: new Meters().provider, calls: true, spans: true }).stop();
    on.mockRestore();
    const all = [
      ScriptRegistryEvents,
      RateLimitEvents,
      OnceEvents,
      ReadRewardEvents,
      LockEvents,
      ScheduledLockEvents,
      DelayedTaskEvents,
      StreamConsumerEvents,
      OutboxEvents,
    ].flatMap((channels) => Object.values(channels));
    // A group that was sent also ends; a group that stands still is seen in its gauges.
    const without = ['luanest:script-registry:group.sent', 'luanest:stream-consumer:group.stalled'];
    expect([...listened].sort()).toEqual(all.filter((name) => !without.includes(name)).sort());
  });
});
