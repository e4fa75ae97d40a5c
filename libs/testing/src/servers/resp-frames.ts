const CR = 0x0d;

/** Splits a RESP2 or RESP3 byte stream into complete requests or replies (frames). The chunks of the stream may begin and end anywhere. */
export class RespFrames {
  #pending: Buffer = Buffer.alloc(0);
  #broken = false;

  /** Number of bytes of the last frame, which is not complete yet. */
  get pendingBytes(): number {
    return this.#pending.length;
  }

  /** Adds a chunk. Returns the frames that are complete now. If the stream is not RESP, returns each chunk unchanged. */
  push(chunk: Buffer): Buffer[] {
    if (this.#broken) return [chunk];
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const frames: Buffer[] = [];
    let start = 0;
    while (start < this.#pending.length) {
      const end = frameEnd(this.#pending, start);
      if (end === 'incomplete') break;
      if (end === 'not resp') {
        this.#broken = true;
        frames.push(this.#pending.subarray(start));
        start = this.#pending.length;
        break;
      }
      frames.push(this.#pending.subarray(start, end));
      start = end;
    }
    this.#pending = this.#pending.subarray(start);
    return frames;
  }
}

/** Returns true for a push message of RESP3 (Pub/Sub, invalidation). It is not a reply to a request. In RESP2, it looks like a reply. */
export function isPush(frame: Buffer): boolean {
  return frame[0] === '>'.charCodeAt(0);
}

type End = number | 'incomplete' | 'not resp';

function frameEnd(bytes: Buffer, start: number): End {
  let at = start;
  // A frame is complete when all elements that it announced are there. This is a loop, not a recursion, because nesting may be deep.
  for (let outstanding = 1; outstanding > 0; outstanding -= 1) {
    const lineEnd = bytes.indexOf(CR, at);
    if (at < bytes.length && !'+-:_#,(*~>%|$=!'.includes(String.fromCharCode(bytes[at] as number))) return 'not resp';
    if (lineEnd === -1 || lineEnd + 2 > bytes.length) return 'incomplete';
    const type = String.fromCharCode(bytes[at] as number);
    const length = Math.max(0, Number(bytes.toString('latin1', at + 1, lineEnd)));
    const isNull = bytes[at + 1] === '-'.charCodeAt(0);
    at = lineEnd + 2;
    if ('$=!'.includes(type) && !isNull) at += length + 2;
    if ('*~>'.includes(type)) outstanding += length;
    if (type === '%') outstanding += 2 * length;
    if (type === '|') outstanding += 2 * length + 1; // an attribute comes before the reply that it describes
    if (at > bytes.length) return 'incomplete';
  }
  return at;
}
