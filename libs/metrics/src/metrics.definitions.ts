import type { Metric, MetricKind } from './metrics.types';
import { GUARDS } from './definitions/guards';
import { SCRIPTS } from './definitions/scripts';
import { WORK } from './definitions/work';

/**
 * What `METRICS` says, with types as narrow as it is. Values of attributes are words of the libs and names that an
 * app's code gives (scripts, rules, jobs, tasks, queues, streams); never a subject, a user, a key, an id or the text
 * of an error.
 */
export const TABLE = Object.freeze({ ...SCRIPTS, ...GUARDS, ...WORK });

/** Name of a metric. */
export type MetricName = keyof typeof TABLE;

/** Every metric by its name. */
export const METRICS: Readonly<Record<MetricName, Metric>> = TABLE;

/** The metrics of a kind. */
export type MetricOf<K extends MetricKind> = {
  [N in MetricName]: (typeof TABLE)[N]['kind'] extends K ? N : never;
}[MetricName];

/** What must be said with each value of a metric. */
export type AttributesOf<N extends MetricName> = {
  readonly [A in (typeof TABLE)[N]['attributes'][number]]: A extends 'error.type' ? string | undefined : string;
};
