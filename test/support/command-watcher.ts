import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

export interface WatchedCommand {
  /** Connection that sent the command (`127.0.0.1:40112`), or `lua` for a command of a script. */
  from: string;
  /** The command's name and its arguments, as bytes in latin1. */
  args: string[];
  /** When the server ran the command, by the server's clock, ms since 1970. */
  atMs: number;
}

/**
 * Records the commands that a server on this machine runs, with MONITOR. It reads the socket itself, because ioredis' monitor
 * fails with "Command queue state error" if a command arrives in one chunk with the reply to MONITOR.
 */
export class CommandWatcher {
  readonly commands: WatchedCommand[] = [];

  private constructor(private readonly socket: Socket) {}

  static async open(port: number): Promise<CommandWatcher> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    const watcher = new CommandWatcher(socket);
    const lines = createInterface({ input: socket, crlfDelay: Infinity });
    const watching = once(lines, 'line') as Promise<string[]>;
    lines.on('line', (line) => {
      const command = parse(line);
      if (command) watcher.commands.push(command);
    });
    socket.write('MONITOR\r\n');
    const [answer] = await watching;
    if (answer !== '+OK') throw new Error(`MONITOR was answered with ${answer}.`);
    return watcher;
  }

  /** Returns all commands of the connections that sent at least one command with `text` in it. */
  sentBesides(text: string): WatchedCommand[] {
    const mine = ({ args }: WatchedCommand): boolean => args.some((arg) => arg.includes(text));
    const connections = new Set(this.commands.filter(mine).map(({ from }) => from));
    return this.commands.filter(({ from }) => connections.has(from));
  }

  /** Removes all recorded commands. */
  clear(): void {
    this.commands.length = 0;
  }

  close(): void {
    this.socket.destroy();
  }
}

const LINE = /^\+(?<at>[\d.]+) \[\d+ (?<from>[^\]]+)\] (?<args>.*)$/;
const QUOTED = /"((?:[^"\\]|\\.)*)"/g;
const ESCAPED = /\\(x[0-9a-f]{2}|.)/gi;
const CONTROLS: Record<string, string> = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b' };

function parse(line: string): WatchedCommand | undefined {
  const groups = LINE.exec(line)?.groups;
  if (!groups) return undefined;
  const args = [...(groups['args'] as string).matchAll(QUOTED)].map(([, text]) =>
    (text as string).replace(ESCAPED, (_all, code: string) =>
      code.length > 1 ? String.fromCharCode(Number.parseInt(code.slice(1), 16)) : (CONTROLS[code] ?? code),
    ),
  );
  return { from: groups['from'] as string, args, atMs: Number(groups['at']) * 1_000 };
}
