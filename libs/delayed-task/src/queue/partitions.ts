import type { KeySpace } from 'luanest/script-registry';
import { evenTags, spread } from '../../../internal/src';

/** The keys of one partition, all in one Cluster slot. */
export interface Partition {
  readonly index: number;
  readonly due: string;
  readonly leased: string;
  readonly tasks: string;
  readonly runs: string;
  readonly dead: string;
  readonly waits: string;
  readonly operation: (token: string) => string;
  readonly result: (id: string) => string;
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
    operation: keys.series('operation'),
    result: keys.series('result'),
    taken: keys.series('taken'),
  });
}

/** The partitions of a queue. The hash of a task's id selects the partition of the task. */
export class Partitions {
  readonly all: readonly Partition[];
  readonly layout: string;

  constructor(space: KeySpace, queue: string, count: number) {
    this.all = evenTags(count, `${queue}:`).map((tag, index) => partitionOf(space.tag(tag), index));
    this.layout = space.tag(queue).key('layout');
  }

  at(index: number): Partition {
    return this.all[index] as Partition;
  }

  of(id: string): Partition {
    return this.all[this.all.length === 1 ? 0 : spread(id) % this.all.length] as Partition;
  }
}
