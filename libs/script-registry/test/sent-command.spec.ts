import { Redis, ReplyError } from 'ioredis';
import { CommandFailure } from '../src/connection/port';
import { commandFor, failureOf, routedFailureOf, watchRouting, type SentCommand } from '../src/connection/ioredis-node';

const RAISED = `MYCODE x script: ${'a'.repeat(40)}, on @user_script:1.`;
const client = new Redis({ lazyConnect: true });
afterAll(() => client.disconnect());

function replyOf(message: string, name = 'ReplyError'): Error {
  return Object.assign(new Error(message), { name });
}

/** A command that was written so many times. */
function sent(writes: number): SentCommand {
  const command = commandFor(client, 'get', ['k']);
  // ioredis counts with it what it has queued on the socket.
  for (let i = 0; i < writes; i++) command.toWritable({});
  expect([command.writes, command.errorReplies]).toEqual([writes, 0]);
  return command;
}

describe('a command', () => {
  it('is written as it is, with bytes if an argument has bytes', () => {
    expect(sent(1).toWritable({})).toBe('*2\r\n$3\r\nget\r\n$1\r\nk\r\n');
    expect(sent(0).args).toEqual(['k']);
    const bytes = commandFor(client, 'get', ['a', Buffer.from([0xff])]);
    expect(bytes.toWritable({})).toEqual(Buffer.from('*3\r\n$3\r\nget\r\n$1\r\na\r\n$1\r\n\xff\r\n', 'latin1'));
  });

  it('was not sent if ioredis never wrote it', () => {
    for (const message of [
      'Connection is closed.',
      "Stream isn't writeable and enableOfflineQueue options is false",
      'Connection in subscriber mode, only subscriber commands may be used',
      "Cluster isn't ready and enableOfflineQueue options is false",
      'Cluster is ended.',
      'Too many Cluster redirections. Last error: x',
      'Reached the max retries per request limit (which is 20). Refer to "maxRetriesPerRequest" option for details.',
    ]) {
      expect(failureOf(sent(0), new Error(message))).toEqual(new CommandFailure('not-sent', message));
      expect(failureOf(sent(1), new Error(message))).toMatchObject({ kind: 'lost', message, mayHaveRun: true });
    }
    expect(failureOf(sent(0), new Error('Command timed out'))).toMatchObject({ kind: 'lost', mayHaveRun: true });
    expect(failureOf(sent(0), new Error('So: Connection is closed.')).kind).toBe('lost');
  });

  it('may have run if one of its writes has no reply', () => {
    expect(failureOf(sent(1), replyOf('OOM x'))).toMatchObject({ kind: 'reply', message: 'OOM x', mayHaveRun: false });
    expect(failureOf(sent(2), replyOf('OOM x', 'ErrorReply'))).toMatchObject({ kind: 'reply', mayHaveRun: true });
    const other = new (ReplyError as ErrorConstructor)('OOM y');
    Object.defineProperty(other, 'name', { value: 'short' });
    expect(failureOf(sent(1), other)).toMatchObject({ kind: 'reply', message: 'OOM y', mayHaveRun: false });
    expect(failureOf(sent(1), { name: 'ReplyError', message: 'x' })).toMatchObject({ kind: 'lost' });
    // Routed commands have counted the reply already.
    const routed = sent(1);
    expect(routedFailureOf(routed, replyOf('OOM x')).mayHaveRun).toBe(true);
    routed.errorReplies = 1;
    expect(routedFailureOf(routed, replyOf('OOM x')).mayHaveRun).toBe(false);
  });

  it.each([
    ['MOVED 1 a:1', true, 'route', 1],
    ['MOVED 1 a:1', false, 'route', 1],
    [RAISED, true, 'end', 1],
    ['MOVED on', true, 'end', 1],
    ['TRYAGAIN later', true, 'end', 1],
    ['MOVED 1 a:1 script: on @user_script:1.', true, 'end', 1],
    ['TRYAGAIN Multiple keys request during rehashing of slot', true, 'route', 1],
    ['closed', true, 'route', 0],
    ['closed', false, 'end', 0],
  ] as const)(
    'that a Cluster routes: after %s, resending %s, it goes to its %s',
    (message, resends, wanted, replies) => {
      const command = sent(1);
      const ends: string[] = [];
      command.reject = () => void ends.push('end');
      watchRouting(command, resends);
      command.reject = () => void ends.push('route');
      const error = message === 'closed' ? new Error(message) : replyOf(message);
      command.reject(error);
      expect([ends, command.errorReplies]).toEqual([[wanted], replies]);
    },
  );

  it('that was not written is routed, also without resending', () => {
    const command = sent(0);
    const ends: string[] = [];
    command.reject = () => void ends.push('end');
    watchRouting(command, false);
    command.reject = () => void ends.push('route');
    command.reject(new Error('closed'));
    expect(ends).toEqual(['route']);
  });
});

describe('a failure', () => {
  it('knows its code, and if the server lacks the script', () => {
    const seen = ({ code, noScript, mayHaveRun }: CommandFailure): unknown[] => [code, noScript, mayHaveRun];
    const noScript = 'NOSCRIPT No matching script. Please use EVAL.';
    expect(seen(new CommandFailure('reply', 'OOM too much'))).toEqual(['OOM', false, false]);
    expect(seen(new CommandFailure('lost', RAISED))).toEqual(['', false, true]);
    expect(seen(new CommandFailure('reply', noScript))).toEqual(['NOSCRIPT', true, false]);
    expect(seen(new CommandFailure('reply', 'NOSCRIPT No matching script.'))).toEqual(['NOSCRIPT', true, false]);
    expect(seen(new CommandFailure('not-sent', noScript))).toEqual(['', false, false]);
    for (const other of [`${noScript} script: on @user_script:1.`, 'NOSCRIPT No matching script here', ' NOSCRIPT']) {
      expect(new CommandFailure('reply', other).noScript).toBe(false);
    }
  });
});
