import { connect, type Socket } from 'node:net';

/** Sends commands to a Redis server and returns the replies as the server sent them, one character for each byte. */
export class RawRedis {
  private received = '';
  private at = 0;
  private notify: () => void = () => undefined;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.received += chunk.toString('latin1');
      this.notify();
    });
  }

  static async connect(port: number): Promise<RawRedis> {
    const socket = connect(port, '127.0.0.1');
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new RawRedis(socket);
  }

  /** Sends commands in one piece. @returns the reply to each */
  async send(commands: readonly (readonly string[])[]): Promise<string[]> {
    this.socket.write(Buffer.from(commands.map(encodeCommand).join(''), 'latin1'));
    const replies: string[] = [];
    while (replies.length < commands.length) {
      const end = endOfReply(this.received, this.at);
      if (end === undefined) {
        await new Promise<void>((resolve) => (this.notify = resolve));
        continue;
      }
      replies.push(this.received.slice(this.at, end));
      this.at = end;
    }
    this.received = this.received.slice(this.at);
    this.at = 0;
    return replies;
  }

  close(): void {
    this.socket.destroy();
  }
}

export function encodeCommand(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
}

/** Returns the index after the reply that begins at an index; undefined if it is not complete. */
function endOfReply(text: string, from: number): number | undefined {
  const line = text.indexOf('\r\n', from);
  if (line < 0) return undefined;
  const [sign, size] = [text[from], Number(text.slice(from + 1, line))];
  let end = line + 2;
  if (sign === '$' && size >= 0) {
    end += size + 2;
    return end <= text.length ? end : undefined;
  }
  const items = sign === '*' || sign === '~' || sign === '>' ? size : sign === '%' ? 2 * size : 0;
  for (let index = 0; index < items; index++) {
    const next = endOfReply(text, end);
    if (next === undefined) return undefined;
    end = next;
  }
  return end;
}
