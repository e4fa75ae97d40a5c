import { CALL } from '../histogram-bounds';
import type { Metric } from '../metrics.types';

/** Metrics of scripts and their calls. */
export const SCRIPTS = {
  'luanest.script.group.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'From when a group of calls was sent as one EVALSHA until the reply',
    attributes: ['luanest.registry', 'luanest.script'],
    buckets: CALL,
  },
  'luanest.script.calls': {
    kind: 'counter',
    unit: '{call}',
    description: 'Calls that were sent; divided by the number of groups: calls per group',
    attributes: ['luanest.registry', 'luanest.script'],
  },
  'luanest.script.call.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'From the call of a script until its result, waiting included',
    attributes: ['luanest.registry', 'luanest.script', 'error.type'],
    buckets: CALL,
  },
  'luanest.script.call.errors': {
    kind: 'counter',
    unit: '{call}',
    description: 'Calls of scripts that were rejected after they were made',
    attributes: ['luanest.registry', 'luanest.script', 'error.type'],
  },
  'luanest.script.loads': {
    kind: 'counter',
    unit: '{load}',
    description: 'Loads of scripts on a node, also if they were already there',
    attributes: ['luanest.registry', 'error.type'],
  },
  'luanest.script.heals': {
    kind: 'counter',
    unit: '{heal}',
    description: 'Times that a node had lost its scripts and they were loaded again',
    attributes: ['luanest.registry', 'luanest.script'],
  },
} as const satisfies Record<string, Metric>;
