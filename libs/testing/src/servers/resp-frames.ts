const CR = 0x0d;

/** Splits the bytes of a connection (RESP2 or RESP3) into complete requests or replies. They may arrive in pieces of any size. */
export class RespFrames {
  #pending: Buffer = Buffer.alloc(0);
  #broken = false;

  /** Number of bytes of the last request or reply, which is incomplete. */
  get pendingBytes(): number {
    return this.#pending.length;
  }

  /** Adds bytes, and returns the requests or replies that are now complete. Bytes that are not RESP are returned unchanged. */
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

/** Returns true for a push message of RESP3, such as a Pub/Sub message, which is not a reply to a request. */
export function isPush(frame: Buffer): boolean {
  return frame[0] === '>'.charCodeAt(0);
}

type End = number | 'incomplete' | 'not resp';

function frameEnd(bytes: Buffer, start: number): End {
  let at = start;
  // A request or reply is complete when all announced elements are there. Nesting may be deep, so this is a loop instead of a recursion.
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
    if (type === '|') outstanding += 2 * length + 1; // An attribute precedes the reply that it describes.
    if (at > bytes.length) return 'incomplete';
  }
  return at;
}
