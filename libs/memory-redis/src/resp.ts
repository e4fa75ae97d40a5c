import { scoreText } from './numbers';
import {
  Double,
  Members,
  NoReply,
  NullArray,
  Pairs,
  Push,
  RedisError,
  Rows,
  Status,
  StreamRows,
  type Reply,
} from './reply';

export type Protocol = 2 | 3;

/** Encodes a reply as RESP. @returns a string in which each character stands for one byte */
export function encode(reply: Reply, protocol: Protocol): string {
  if (typeof reply === 'string') return `$${reply.length}\r\n${reply}\r\n`;
  if (typeof reply === 'number' || typeof reply === 'bigint') return `:${reply}\r\n`;
  if (reply === null) return protocol === 3 ? '_\r\n' : '$-1\r\n';
  if (reply instanceof Status) return `+${inOneLine(reply.text)}\r\n`;
  if (reply instanceof RedisError) return `-${inOneLine(reply.message)}\r\n`;
  if (reply instanceof NoReply) return '';
  return protocol === 3 ? encodeThree(reply) : encodeTwo(reply);
}

type Structured = Exclude<Reply, string | number | bigint | null | Status | RedisError | NoReply>;

function encodeTwo(reply: Structured): string {
  if (reply instanceof NullArray) return '*-1\r\n';
  if (reply instanceof Double) return encode(scoreText(reply.value), 2);
  return encodeList('*', flat(reply), 2);
}

/** Returns the elements of the array that RESP2 sends for this reply. */
export function flat(reply: Exclude<Structured, NullArray | Double>): readonly Reply[] {
  if (reply instanceof Pairs || reply instanceof Rows) return reply.items.flat();
  return reply instanceof StreamRows || reply instanceof Members || reply instanceof Push ? reply.items : reply;
}

function encodeThree(reply: Structured): string {
  if (reply instanceof NullArray) return '_\r\n';
  if (reply instanceof Double) return `,${scoreText(reply.value)}\r\n`;
  if (reply instanceof Pairs || reply instanceof StreamRows) {
    return `%${reply.items.length}\r\n${encodeAll(reply.items.flat(), 3)}`;
  }
  if (reply instanceof Rows) return encodeList('*', reply.items, 3);
  if (reply instanceof Members) return encodeList('~', reply.items, 3);
  return reply instanceof Push ? encodeList('>', reply.items, 3) : encodeList('*', reply, 3);
}

function encodeList(sign: string, items: readonly Reply[], protocol: Protocol): string {
  return `${sign}${items.length}\r\n${encodeAll(items, protocol)}`;
}

function encodeAll(items: readonly Reply[], protocol: Protocol): string {
  return items.map((item) => encode(item, protocol)).join('');
}

function inOneLine(text: string): string {
  return text.replace(/[\r\n]/g, ' ');
}

/** Parses the commands (RESP) in the bytes of a client. They may arrive in pieces of any size. */
export class RequestReader {
  private rest = '';

  /**
   * Adds bytes.
   *
   * @param bytes a string of which each character is one byte
   * @returns the commands that are now complete, each as its name and arguments
   */
  read(bytes: string): string[][] {
    this.rest += bytes;
    const requests: string[][] = [];
    for (let request = this.next(); request !== undefined; request = this.next()) {
      if (request.length > 0) requests.push(request);
    }
    return requests;
  }

  private next(): string[] | undefined {
    const end = this.rest.indexOf('\n');
    if (end < 0) return undefined;
    if (!this.rest.startsWith('*')) {
      const words = this.rest.slice(0, end).trim().split(/\s+/).filter(Boolean);
      this.rest = this.rest.slice(end + 1);
      return words;
    }
    const count = Number(this.rest.slice(1, end));
    const words: string[] = [];
    let at = end + 1;
    for (let index = 0; index < count; index++) {
      const lineEnd = this.rest.indexOf('\r\n', at);
      if (lineEnd < 0) return undefined;
      const length = Number(this.rest.slice(at + 1, lineEnd));
      const from = lineEnd + 2;
      if (this.rest.length < from + length + 2) return undefined;
      words.push(this.rest.slice(from, from + length));
      at = from + length + 2;
    }
    this.rest = this.rest.slice(at);
    return words;
  }
}
