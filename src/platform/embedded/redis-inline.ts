import { connect } from 'node:net';

/** Address and password of a Redis. */
export interface RedisEndpoint {
  readonly host: string;
  readonly port: number;
  readonly password: string;
}

/**
 * Sends a command without arguments (PING, SHUTDOWN) over a new connection. Returns the first line of the reply; the error
 * line of AUTH if the password is wrong; undefined if the connection closes or is silent for `timeoutMs` first. Never rejects.
 */
export function sendInline(endpoint: RedisEndpoint, command: string, timeoutMs = 1_000): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(endpoint.port, endpoint.host);
    let received = '';
    const finish = (reply: string | undefined): void => {
      socket.destroy();
      resolve(reply);
    };
    socket.setTimeout(timeoutMs, () => finish(undefined));
    socket.on('error', () => finish(undefined));
    socket.on('close', () => finish(undefined));
    socket.on('connect', () => socket.write(`AUTH ${endpoint.password}\r\n${command}\r\n`));
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      // The first line answers AUTH, the second one the command.
      const lines = received.split('\r\n');
      if (lines.length > 2) finish(lines[0] === '+OK' ? lines[1] : lines[0]);
    });
  });
}

/** Returns true if the server accepts commands with this password; false for example while it still loads its data. */
export async function answersPing(endpoint: RedisEndpoint): Promise<boolean> {
  return (await sendInline(endpoint, 'PING')) === '+PONG';
}
