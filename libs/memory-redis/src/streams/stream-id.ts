import { refuse } from '../reply';

/** The id of a stream entry as one integer: the time (ms since 1970) in the upper 64 bits, the sequence number in the lower 64. */
export type StreamId = bigint;

const HALF = 64n;
const LOW = (1n << HALF) - 1n;
export const LOWEST_ID: StreamId = 0n;
export const HIGHEST_ID: StreamId = (1n << 128n) - 1n;
export const INVALID_ID = 'ERR Invalid stream ID specified as stream command argument';

export function idOf(ms: bigint, sequence: bigint): StreamId {
  return (ms << HALF) | sequence;
}

export function msOf(id: StreamId): bigint {
  return id >> HALF;
}

export function sequenceOf(id: StreamId): bigint {
  return id & LOW;
}

export function idText(id: StreamId): string {
  return `${msOf(id)}-${sequenceOf(id)}`;
}

/** Parses an unsigned 64-bit integer. Returns undefined for other text. */
function parsePart(text: string): bigint | undefined {
  if (!/^[ \t\n\v\f\r]*\+?\d{1,100}$/.test(text)) return undefined;
  const value = BigInt(text.replace('+', ''));
  return value <= LOW ? value : undefined;
}

/** Parses an id. @param missing sequence number to use for an id without one @returns undefined if the text is not an id */
export function tryParseId(text: string, missing = 0n): StreamId | undefined {
  const dash = text.indexOf('-');
  const ms = parsePart(dash < 0 ? text : text.slice(0, dash));
  const sequence = dash < 0 ? missing : parsePart(text.slice(dash + 1));
  return ms === undefined || sequence === undefined ? undefined : idOf(ms, sequence);
}

/** Parses an id. @param missing sequence number to use for an id without one @throws RedisError */
export function parseId(text: string, missing = 0n): StreamId {
  return tryParseId(text, missing) ?? refuse(INVALID_ID);
}

/** Parses an id, or `-` for the lowest id and `+` for the highest. @throws RedisError */
export function parseIdOrEnd(text: string): StreamId {
  return text === '-' ? LOWEST_ID : text === '+' ? HIGHEST_ID : parseId(text);
}

/** Parses the start or the end of a range: an id, `-` or `+`. After `(`, the id itself does not belong to the range. @throws RedisError */
export function parseBound(text: string, isStart: boolean): StreamId {
  if (text === '-') return LOWEST_ID;
  if (text === '+') return HIGHEST_ID;
  const isExclusive = text.startsWith('(') && text.length > 1;
  // The end of a range without a sequence number includes all ids of its millisecond.
  const id = parseId(isExclusive ? text.slice(1) : text, isStart ? 0n : LOW);
  if (!isExclusive) return id;
  if (isStart) return id === HIGHEST_ID ? refuse('ERR invalid start ID for the interval') : id + 1n;
  return id === LOWEST_ID ? refuse('ERR invalid end ID for the interval') : id - 1n;
}

/** Returns the index of the first element whose id is `id` or higher. The elements must be sorted by id. */
export function lowerBound(elements: readonly { readonly id: StreamId }[], id: StreamId): number {
  let [low, high] = [0, elements.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((elements[middle]?.id ?? 0n) >= id) high = middle;
    else low = middle + 1;
  }
  return low;
}
