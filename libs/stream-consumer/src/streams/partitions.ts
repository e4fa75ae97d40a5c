import type { KeySpace, TaggedKeys } from 'luanest/script-registry';
import { slotOf } from '../../../internal/src';

const SLOTS = 16_384;
/** How far a partition's slot may be from its place. */
const REACH = 128;

// See DECISIONS.md: partition-slots-do-not-depend-on-count
/** The place of a partition among all slots, 0 to 1: thirds first, then their thirds, so that any number lies evenly. */
function placeOf(partition: number): number {
  let [place, width] = [0, 1];
  for (let rest = partition; rest > 0; rest = Math.floor(rest / 3)) {
    width /= 3;
    place += (rest % 3) * width;
  }
  return place;
}

/**
 * The hash tag of a partition. It does not depend on how many there are, so more can be added without moving any.
 *
 * @param stream name without braces
 * @param partition from 0
 */
export function tagOf(stream: string, partition: number): string {
  // Off the edges of the thirds, which is where the slots of three masters begin.
  const wanted = ((placeOf(partition) + 1 / 6) % 1) * SLOTS;
  for (let n = 0; ; n++) {
    const tag = `${stream}.${partition}.${n}`;
    const distance = Math.abs(slotOf(tag) - wanted);
    if (Math.min(distance, SLOTS - distance) <= REACH) return tag;
  }
}

/** The keys of one group in one partition, as scripts name them. */
export interface GroupKeys {
  readonly stream: string;
  readonly waiters: string;
  readonly sessions: string;
  readonly takes: string;
  readonly due: string;
  readonly tries: string;
  readonly heads: string;
  readonly dead: string;
}

/** One part of a stream: its keys all share a slot. */
export class Partition {
  readonly stream: string;
  readonly waiters: string;
  /** The key of an operation. */
  readonly operation: (operation: string) => string;
  private readonly tagged: TaggedKeys;
  /** What sets the keys of this stream apart from those of others under the tag. */
  private readonly owner: readonly string[];

  /** @param key of the stream, where another program has named it */
  constructor(
    space: KeySpace,
    name: string,
    readonly index: number,
    key?: string,
  ) {
    this.tagged = key === undefined ? space.tag(tagOf(name, index)) : space.sameSlotAs(key);
    this.owner = key === undefined ? [] : [key];
    this.stream = key ?? this.tagged.key('stream');
    this.waiters = this.tagged.key('waiters', ...this.owner);
    this.operation = this.tagged.series('operation', ...this.owner);
  }

  of(group: string): GroupKeys {
    const key = (name: string): string => this.tagged.key(name, group, ...this.owner);
    return {
      stream: this.stream,
      waiters: this.waiters,
      sessions: key('sessions'),
      takes: key('takes'),
      due: key('due'),
      tries: key('tries'),
      heads: key('heads'),
      dead: key('dead'),
    };
  }
}
