import type { KeySpace, TaggedKeys } from 'luanest/script-registry';
import { slotOf } from '../../../internal/src';

const SLOTS = 16_384;
/** Longest distance of a partition's slot from its position. */
const REACH = 128;

// See DECISIONS.md: partition-slots-do-not-depend-on-count
/** Returns the position of a partition among all slots, 0 to 1: thirds first, then ninths, so that any number is even. */
function positionOf(partition: number): number {
  let [position, width] = [0, 1];
  for (let rest = partition; rest > 0; rest = Math.floor(rest / 3)) {
    width /= 3;
    position += (rest % 3) * width;
  }
  return position;
}

/**
 * Returns the hash tag of a partition. It does not depend on the number of partitions, so adding one moves no other.
 *
 * @param stream name without braces
 * @param partition from 0
 */
export function tagOf(stream: string, partition: number): string {
  // Not at the edges of the thirds, where the slots of three masters begin.
  const wanted = ((positionOf(partition) + 1 / 6) % 1) * SLOTS;
  for (let n = 0; ; n++) {
    const tag = `${stream}.${partition}.${n}`;
    const distance = Math.abs(slotOf(tag) - wanted);
    if (Math.min(distance, SLOTS - distance) <= REACH) return tag;
  }
}

/** Keys of one group in one partition, by their names in scripts. */
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

/** A partition of a stream. All its keys are in one slot. */
export class Partition {
  readonly stream: string;
  readonly waiters: string;
  /** Returns the key of an operation. */
  readonly operation: (operation: string) => string;
  private readonly tagged: TaggedKeys;
  /** Last part of the keys of a stream with `keys`: other streams may have the same tag. */
  private readonly owner: readonly string[];

  /** @param key key of the stream, if another program writes it */
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

  /** Returns the keys of a group. */
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
