import calculateSlot from 'cluster-key-slot';

const SLOTS = 16_384;

/** Returns the hash slot of a key, 0 to 16,383. */
export function slotOf(key: string): number {
  return calculateSlot(key);
}

/**
 * A number of 32 bits by which texts are spread over parts: FNV-1a over UTF-16 units. It does not withstand anybody who
 * looks for texts that share a part.
 */
export function spread(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/**
 * Hash tags whose slots lie evenly over all slots, so that every master of a Cluster has its part of them.
 *
 * @param count of tags; another count gives other tags
 * @param name that each begins with; text without braces
 */
export function evenTags(count: number, name = ''): string[] {
  const tags = new Array<string | undefined>(count).fill(undefined);
  for (let missing = count, n = 0; missing > 0; n++) {
    const tag = `${name}${n}`;
    const place = Math.floor((slotOf(tag) * count) / SLOTS);
    if (tags[place] !== undefined) continue;
    tags[place] = tag;
    missing -= 1;
  }
  return tags as string[];
}
