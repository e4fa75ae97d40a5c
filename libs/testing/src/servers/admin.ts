import { connect, type Socket } from 'node:net';
import { RespFrames } from './resp-frames';

/** Host and port of a server. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Longest wait for a connection, and for each reply, ms. */
const TIMEOUT_MS = 5_000;

type Settle = (outcome: Error | { readonly reply: unknown }) => void;

/** Connection for the commands that luanest/testing itself sends to servers. It needs no Redis client, because an app may use any. */
export class Admin {
  readonly #frames = new RespFrames();
  readonly #waiting: Settle[] = [];
  #ended: Error | undefined;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      for (const frame of this.#frames.push(chunk)) this.#waiting.shift()?.(outcomeOf(frame));
    });
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('Connection is closed.')));
  }

  static async open({ host, port }: Address): Promise<Admin> {
    const socket = connect({ host, port, noDelay: true });
    const admin = new Admin(socket);
    await within(
      new Promise<void>((resolve, reject) => {
        socket.once('connect', resolve);
        socket.once('error', reject);
      }),
    ).catch((error: unknown) => {
      admin.close();
      throw error;
    });
    return admin;
  }

  /** Sends a command. @returns the reply in RESP2; strings as text @throws Error whose message is the error of Redis */
  async call(...words: readonly (string | number | Buffer)[]): Promise<unknown> {
    return texts(await this.callBuffer(...words));
  }

  /** Does the same as `call`, but returns strings of the reply as Buffers. */
  async callBuffer(...words: readonly (string | number | Buffer)[]): Promise<unknown> {
    const outcome = await within(
      new Promise<Parameters<Settle>[0]>((settle) => {
        if (this.#ended) return settle(this.#ended);
        this.#waiting.push(settle);
        this.socket.write(encoded(words));
      }),
    );
    if (outcome instanceof Error) throw outcome;
    return outcome.reply;
  }

  async info(section: string): Promise<string> {
    return String(await this.call('INFO', section));
  }

  close(): void {
    this.socket.destroy();
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const settle of this.#waiting.splice(0)) settle(this.#ended);
  }
}

/** Runs `use` with a connection, and then closes the connection. It does not reconnect, and waits at most 5 s for each reply. */
export async function withAdmin<T>(address: Address, use: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = await Admin.open(address);
  try {
    return await use(admin);
  } finally {
    admin.close();
  }
}

function within<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The test server did not reply within ${TIMEOUT_MS} ms.`)), TIMEOUT_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function encoded(words: readonly (string | number | Buffer)[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${words.length}\r\n`)];
  for (const word of words) {
    const bytes = Buffer.isBuffer(word) ? word : Buffer.from(String(word));
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'));
  }
  return Buffer.concat(parts);
}

/** Parses one complete RESP2 reply. */
function outcomeOf(frame: Buffer): Parameters<Settle>[0] {
  const reply = new FrameReader(frame).next();
  return reply instanceof Error ? reply : { reply };
}

class FrameReader {
  #at = 0;

  constructor(private readonly frame: Buffer) {}

  next(): unknown {
    const type = String.fromCharCode(this.frame[this.#at] as number);
    const lineEnd = this.frame.indexOf('\r\n', this.#at);
    const line = this.frame.toString('utf8', this.#at + 1, lineEnd);
    this.#at = lineEnd + 2;
    if (type === '+') return Buffer.from(line);
    if (type === '-') return new Error(line);
    if (type === ':') return Number(line);
    const length = Number(line);
    if (length < 0) return null;
    if (type === '*') return Array.from({ length }, () => this.next());
    const bytes = this.frame.subarray(this.#at, this.#at + length);
    this.#at += length + 2;
    return bytes;
  }
}

function texts(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(texts);
  return Buffer.isBuffer(reply) ? reply.toString() : reply;
}
