import type { KeySpace } from 'luanest/script-registry';
import { slotOf } from '../../../internal/src';

const SLOTS = 16_384;
/** Longest distance from the wanted slot of a partition to the slot of its hash tag, slots. */
const REACH = 128;

/**
 * Returns where the slot of a partition is among all slots, from 0 to below 1. Partitions 0 to 2 are a third apart, those up to 8
 * fill in the ninths, and so on. So partitions are spread evenly over three masters with a third of the slots each.
 * See DECISIONS.md: partition-slots-do-not-depend-on-count
 */
function positionOf(partition: number): number {
  let [position, width] = [0, 1];
  for (let rest = partition; rest > 0; rest = Math.floor(rest / 3)) {
    width /= 3;
    position += (rest % 3) * width;
  }
  return position;
}

/**
 * Returns the hash tag of a partition. The tag does not depend on the number of partitions, so a new partition moves no other.
 *
 * @param stream name of the stream, without braces
 * @param partition index of the partition, from 0
 */
export function tagOf(stream: string, partition: number): string {
  // The position is shifted by 1/6, because three masters begin at the thirds of the slots, and a tag near such an edge could be on either side.
  const wanted = ((positionOf(partition) + 1 / 6) % 1) * SLOTS;
  for (let n = 0; ; n++) {
    const tag = `${stream}.${partition}.${n}`;
    const distance = Math.abs(slotOf(tag) - wanted);
    if (Math.min(distance, SLOTS - distance) <= REACH) return tag;
  }
}

/** Keys of one partition that the scripts of a group use, by their names in the scripts. */
export interface GroupKeys {
  readonly stream: string;
  readonly woken: string;
  readonly sessions: string;
  readonly takes: string;
  readonly due: string;
  readonly tries: string;
  readonly heads: string;
  readonly dead: string;
  readonly unsettled: string;
}

/** A partition of a stream. All its keys are in one slot. */
export class Partition {
  readonly stream: string;
  readonly woken: string;
  /** Returns the key that stores the result of a publish, by its operation id. */
  readonly operation: (operation: string) => string;
  private readonly tagged: ReturnType<KeySpace['tag']>;
  /** On a stream with `keys`: the last part of the lib's own keys, because other streams may have the same hash tag. */
  private readonly owner: readonly string[];

  /** @param key whole key of a stream that another program writes. Default: made from the name of the stream and the index */
  constructor(
    space: KeySpace,
    name: string,
    readonly index: number,
    key?: string,
  ) {
    this.tagged = key === undefined ? space.tag(tagOf(name, index)) : space.sameSlotAs(key);
    this.owner = key === undefined ? [] : [key];
    this.stream = key ?? this.tagged.key('stream');
    this.woken = this.tagged.key('woken', ...this.owner);
    this.operation = this.tagged.series('operation', ...this.owner);
  }

  of(group: string): GroupKeys {
    const key = (name: string): string => this.tagged.key(name, group, ...this.owner);
    return {
      stream: this.stream,
      woken: this.woken,
      sessions: key('sessions'),
      takes: key('takes'),
      due: key('due'),
      tries: key('tries'),
      heads: key('heads'),
      dead: key('dead'),
      unsettled: key('unsettled'),
    };
  }
}
