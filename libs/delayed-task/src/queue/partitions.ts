import calculateSlot from 'cluster-key-slot';
import type { KeySpace, TaggedKeys } from 'luanest/script-registry';

const SLOTS = 16_384;

/** The keys of one partition, which share a slot. */
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

/** Hash tags of a queue whose slots lie evenly over all slots, so that every master of a Cluster has its part. */
export function evenTags(queue: string, count: number): string[] {
  const tags = new Array<string | undefined>(count).fill(undefined);
  for (let missing = count, n = 0; missing > 0; n++) {
    const tag = `${queue}:${n}`;
    const place = Math.floor((calculateSlot(tag) * count) / SLOTS);
    if (tags[place] !== undefined) continue;
    tags[place] = tag;
    missing -= 1;
  }
  return tags as string[];
}

function partitionOf(keys: TaggedKeys, index: number): Partition {
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

/** The partitions of a queue; an id finds its own by hash. */
export class Partitions {
  readonly all: readonly Partition[];
  readonly layout: string;

  constructor(space: KeySpace, queue: string, count: number) {
    this.all = evenTags(queue, count).map((tag, index) => partitionOf(space.tag(tag), index));
    this.layout = space.tag(queue).key('layout');
  }

  /** FNV-1a over the id's UTF-16 units. */
  of(id: string): Partition {
    if (this.all.length === 1) return this.all[0] as Partition;
    let hash = 0x811c9dc5;
    for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
    return this.all[((hash ^ (hash >>> 15)) >>> 0) % this.all.length] as Partition;
  }
}
