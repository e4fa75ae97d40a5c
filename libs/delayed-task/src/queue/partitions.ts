import type { KeySpace } from 'luanest/script-registry';
import { evenTags, spread } from '../../../internal/src';
import { partitionPart } from './task-codec';

/** The Redis keys of one partition, all in the same hash slot. */
export interface Partition {
  readonly index: number;
  readonly due: string;
  readonly leased: string;
  readonly tasks: string;
  readonly runs: string;
  readonly dead: string;
  readonly waits: string;
  readonly lines: string;
  readonly heads: string;
  readonly starts: string;
  readonly pauses: string;
  readonly places: string;
  readonly rates: string;
  readonly operation: (token: string) => string;
  readonly result: (id: string) => string;
  readonly progress: (id: string) => string;
  readonly taken: (worker: string) => string;
}

function partitionOf(keys: ReturnType<KeySpace['tag']>, index: number): Partition {
  return Object.freeze({
    index,
    due: keys.key('due'),
    leased: keys.key('leased'),
    tasks: keys.key('tasks'),
    runs: keys.key('runs'),
    dead: keys.key('dead'),
    waits: keys.key('waits'),
    lines: keys.key('lines'),
    heads: keys.key('heads'),
    starts: keys.key('starts'),
    pauses: keys.key('pauses'),
    places: keys.key('places'),
    rates: keys.key('rates'),
    operation: keys.series('operation'),
    result: keys.series('result'),
    progress: keys.series('progress'),
    taken: keys.series('taken'),
  });
}

/** The partitions of a queue. The hash of a task's id decides in which partition the task is. */
export class Partitions {
  readonly all: readonly Partition[];
  readonly layout: string;
  /** Key that exists while the queue is paused. A pause is announced to workers on the channel of the same name. */
  readonly paused: string;

  constructor(space: KeySpace, queue: string, count: number) {
    this.all = evenTags(count, `${queue}:`).map((tag, index) => partitionOf(space.tag(tag), index));
    this.layout = space.tag(queue).key('layout');
    this.paused = space.tag(queue).key('paused');
  }

  at(index: number): Partition {
    return this.all[index] as Partition;
  }

  of(id: string): Partition {
    return this.all[this.all.length === 1 ? 0 : spread(partitionPart(id)) % this.all.length] as Partition;
  }
}
