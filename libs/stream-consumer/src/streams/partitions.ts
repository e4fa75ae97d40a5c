import type { KeySpace } from 'luanest/script-registry';
import { slotOf } from '../../../internal/src';

const SLOTS = 16_384;
/** A partition's hash tag may have a hash slot that differs from the wanted one by at most this many slots. */
const REACH = 128;

/**
 * Returns where a partition should be among the hash slots of a Cluster: a fraction from 0 to less than 1. Partitions 0 to 2 are at the
 * thirds, partitions 3 to 8 at the other ninths, and so on. So the partitions are distributed evenly over three masters that have a third
 * of the slots each.
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
 * Returns the hash tag of a partition. The tag does not depend on the number of partitions, so all others stay in their hash slots when a
 * partition is added.
 *
 * @param stream name of the stream, without braces
 * @param partition index of the partition, from 0
 */
export function tagOf(stream: string, partition: number): string {
  // The shift by 1/6 keeps tags away from the borders between three masters, which begin at the thirds of the slots.
  const wanted = ((positionOf(partition) + 1 / 6) % 1) * SLOTS;
  for (let n = 0; ; n++) {
    const tag = `${stream}.${partition}.${n}`;
    const distance = Math.abs(slotOf(tag) - wanted);
    if (Math.min(distance, SLOTS - distance) <= REACH) return tag;
  }
}

/** Redis keys that belong to one group in one partition. */
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

/** A partition of a stream. All keys of a partition are in one slot of Redis Cluster. */
export class Partition {
  readonly stream: string;
  readonly woken: string;
  /** Returns the key under which Redis remembers the publish with this operation id. */
  readonly operation: (operation: string) => string;
  private readonly tagged: ReturnType<KeySpace['tag']>;
  /**
   * Last part of the names of luanest's keys: the key of a stream of another program, because several such streams may have the same hash
   * tag. Empty for a stream of luanest.
   */
  private readonly owner: readonly string[];

  /** @param key complete key of a stream of another program. Default: a key that is made from `name` and `index` */
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
