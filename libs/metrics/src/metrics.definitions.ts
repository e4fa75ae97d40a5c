import type { Metric, MetricKind } from './metrics.types';
import { GUARDS } from './definitions/guards';
import { SCRIPTS } from './definitions/scripts';
import { WORK } from './definitions/work';

/**
 * Definitions of all metrics, with literal types. Values of attributes are words of the libs and names from the app's code
 * (scripts, rules, jobs, tasks, queues, streams). They are never a subject, a user, a key, an id or the text of an error.
 */
export const TABLE = Object.freeze({ ...SCRIPTS, ...GUARDS, ...WORK });

/** Name of a metric. */
export type MetricName = keyof typeof TABLE;

/** Definitions of all metrics by name. */
export const METRICS: Readonly<Record<MetricName, Metric>> = TABLE;

/** Names of the metrics of one kind. */
export type MetricOf<K extends MetricKind> = {
  [N in MetricName]: (typeof TABLE)[N]['kind'] extends K ? N : never;
}[MetricName];

/** Attributes that each value of a metric must have. */
export type AttributesOf<N extends MetricName> = {
  readonly [A in (typeof TABLE)[N]['attributes'][number]]: A extends 'error.type' ? string | undefined : string;
};
