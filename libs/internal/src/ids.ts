import { randomBytes } from 'node:crypto';
import calculateSlot from 'cluster-key-slot';

const SLOTS = 16_384;

/** Returns the hash slot of a key in a Redis Cluster, 0 to 16,383. */
export function slotOf(key: string): number {
  return calculateSlot(key);
}

/**
 * Returns a 32-bit hash of a text (FNV-1a over UTF-16 units). It is used to choose one of several partitions. The hash is not
 * cryptographic, so anyone can find texts with the same hash.
 */
export function spread(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/**
 * Returns hash tags for `count` partitions. Their hash slots are evenly distributed: the slots are divided into `count` ranges, with one
 * tag in each. So on a Cluster whose masters have equal shares of the slots, each master gets about the same number of partitions.
 *
 * @param count number of tags. The tags for one count may differ from those for another count
 * @param name first part of each tag; text without braces; default: none
 */
export function evenTags(count: number, name = ''): string[] {
  const tags = new Array<string | undefined>(count).fill(undefined);
  for (let missing = count, n = 0; missing > 0; n++) {
    const tag = `${name}${n}`;
    const index = Math.floor((slotOf(tag) * count) / SLOTS);
    if (tags[index] !== undefined) continue;
    tags[index] = tag;
    missing -= 1;
  }
  return tags as string[];
}

/** Creates ids that are unique over all processes: 96 random bits of this object, and a counter. */
export class UniqueIds {
  private readonly origin: string;
  private made = 0;
  /** Number of digits of the counter, as text. It precedes the counter in each id, so that ids sort in the order of their creation. */
  private digits = '1';
  private longer = 36;

  constructor(prefix = '') {
    this.origin = `${prefix}${randomBytes(12).toString('base64url')}`;
  }

  /**
   * Returns a new id: the prefix, then about 20 letters, digits, `-` and `_`. Compared by bytes, it sorts after all earlier ids of this
   * object.
   */
  next(): string {
    this.made += 1;
    if (this.made === this.longer) {
      this.digits = this.made.toString(36).length.toString(36);
      this.longer *= 36;
    }
    return this.origin + this.digits + this.made.toString(36);
  }
}
