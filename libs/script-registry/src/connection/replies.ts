import { CommandFailure, type CommandArg, type Receiver, type RedisNode } from './port';

const QUEUED = Buffer.from('QUEUED');

/**
 * Passes a text reply to `receiver`. The text QUEUED is passed as a failure: other code has opened a MULTI on this connection, so Redis
 * will run the command only at EXEC, or drop it at DISCARD. A script that returns just the text QUEUED gets the same failure.
 */
export function passText(reply: Buffer, receiver: Receiver): void {
  if (reply.length !== QUEUED.length || !reply.equals(QUEUED)) return receiver.replied(reply);
  const why =
    'Redis replied QUEUED, because the app has begun a transaction (MULTI) on this connection. Use another client for transactions';
  receiver.failed(new CommandFailure('lost', why));
}

/** Sends a command between two TIME commands. All three must be sent in one write. See `sendMeasured` of RedisNode. */
export function sendBetweenTimes(
  node: RedisNode,
  name: string,
  args: CommandArg[],
  took: (ms: number | undefined) => void,
  resent?: () => void,
): Promise<unknown> {
  const [before, answer, after] = [node.send('TIME', []), node.send(name, args, resent), node.send('TIME', [])];
  void Promise.allSettled([before, after, answer]).then(([from, to, ran]) => {
    if (ran.status === 'rejected') return;
    if (from.status === 'fulfilled' && to.status === 'fulfilled') {
      took(Math.max(0, msOf(to.value) - msOf(from.value)));
    } else if (from.status === 'rejected' && (from.reason as CommandFailure).code === 'NOPERM') took(undefined);
  });
  return answer;
}

function msOf(time: unknown): number {
  const [seconds, us] = time as [string, string];
  return Number(seconds) * 1_000 + Number(us) / 1_000;
}
