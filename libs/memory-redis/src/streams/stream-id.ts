import { refuse } from '../reply';

/** An id of a stream: its ms in the upper 64 bits, its sequence number in the lower 64. */
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

/** Returns an unsigned 64-bit number; undefined if the text is not one. */
function parsePart(text: string): bigint | undefined {
  if (!/^[ \t\n\v\f\r]*\+?\d{1,100}$/.test(text)) return undefined;
  const value = BigInt(text.replace('+', ''));
  return value <= LOW ? value : undefined;
}

/** Reads an id. @param missing sequence number of an id that has only ms; undefined if the text is not an id */
export function tryParseId(text: string, missing = 0n): StreamId | undefined {
  const dash = text.indexOf('-');
  const ms = parsePart(dash < 0 ? text : text.slice(0, dash));
  const sequence = dash < 0 ? missing : parsePart(text.slice(dash + 1));
  return ms === undefined || sequence === undefined ? undefined : idOf(ms, sequence);
}

/** Reads an id. @param missing sequence number of an id that has only ms @throws RedisError */
export function parseId(text: string, missing = 0n): StreamId {
  return tryParseId(text, missing) ?? refuse(INVALID_ID);
}

/** Reads an id, or - for the lowest one and + for the highest. @throws RedisError */
export function parseIdOrEnd(text: string): StreamId {
  return text === '-' ? LOWEST_ID : text === '+' ? HIGHEST_ID : parseId(text);
}

/** Reads one end of a range: an id, - or +, with ( before it if the id is not in the range. @throws RedisError */
export function parseBound(text: string, isStart: boolean): StreamId {
  if (text === '-') return LOWEST_ID;
  if (text === '+') return HIGHEST_ID;
  const isExclusive = text.startsWith('(') && text.length > 1;
  // An end without a sequence number means all ids of its ms.
  const id = parseId(isExclusive ? text.slice(1) : text, isStart ? 0n : LOW);
  if (!isExclusive) return id;
  if (isStart) return id === HIGHEST_ID ? refuse('ERR invalid start ID for the interval') : id + 1n;
  return id === LOWEST_ID ? refuse('ERR invalid end ID for the interval') : id - 1n;
}

/** Returns the index of the first element with an id from `id`. */
export function lowerBound(elements: readonly { readonly id: StreamId }[], id: StreamId): number {
  let [low, high] = [0, elements.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((elements[middle]?.id ?? 0n) >= id) high = middle;
    else low = middle + 1;
  }
  return low;
}
