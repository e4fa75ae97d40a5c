import { CommandFailure, type CommandArg, type Receiver, type RedisNode } from './port';

const QUEUED = Buffer.from('QUEUED');

/**
 * Passes a text reply to `receiver`. If the text is QUEUED, passes a failure instead. Redis replies QUEUED if other code has opened a
 * MULTI on the connection. Redis then runs the command at EXEC, or drops it at DISCARD. A script that returns only the text QUEUED also
 * gets this failure.
 */
export function passText(reply: Buffer, receiver: Receiver): void {
  if (reply.length !== QUEUED.length || !reply.equals(QUEUED)) return receiver.replied(reply);
  const why = 'Redis replied QUEUED, because a MULTI is open on this connection. Use another client for transactions';
  receiver.failed(new CommandFailure('lost', why));
}

/** Sends a command between two TIME commands. All three must be in one write. See `sendMeasured` of RedisNode. */
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
