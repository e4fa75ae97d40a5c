import { CommandFailure } from '../src/connection/port';
import { inSource, isRedirect, isRefusal, saysRaised } from '../src/connection/server-errors';
import { asError, asFailure, callError, expiryError, scriptError } from '../src/pipe/settle';
import { Call } from '../src/pipe/call';
import { append } from './support';

const SHA = 'a'.repeat(40);

/** Each text is one that a server of these versions sends instead of running a script. */
const REFUSALS = [
  "OOM command not allowed when used memory > 'maxmemory'.",
  "READONLY You can't write against a read only replica.",
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.",
  "MISCONF Valkey is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Valkey logs for details about the RDB error.",
  'MISCONF Errors writing to the AOF file: No space left on device',
  'NOREPLICAS Not enough good replicas to write.',
  'LOADING Redis is loading the dataset in memory',
  'LOADING Valkey is loading the dataset in memory',
  'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  'BUSY Valkey is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.',
  'NOAUTH Authentication required.',
  "NOPERM this user has no permissions to run the 'evalsha' command",
  "NOPERM User limited has no permissions to run the 'evalsha' command",
  'NOPERM this user has no permissions to access one of the keys used as arguments',
  'NOPERM No permissions to access a key',
  'NOSCRIPT No matching script.',
  'NOSCRIPT No matching script. Please use EVAL.',
];
const REDIRECTS = [
  'MOVED 15495 127.0.0.1:7001',
  'MOVED 15495 :7001',
  'ASK 1 node.example:7001',
  'TRYAGAIN Multiple keys request during rehashing of slot',
  "CROSSSLOT Keys in request don't hash to the same slot",
  'CLUSTERDOWN Hash slot not served',
  'CLUSTERDOWN The cluster is down',
  'CLUSTERDOWN The cluster is down and only accepts read commands',
];

describe('an error of the server', () => {
  it.each(REDIRECTS)('does not say so on a single server, which has no slots: %s', (message) => {
    const error = callError('test.one', new CommandFailure('reply', message), false, false);
    expect([isRefusal(message, false), error]).toEqual([false, expect.objectContaining({ code: 'UNKNOWN_OUTCOME' })]);
  });

  it.each([...REFUSALS, ...REDIRECTS])('says that the script did not run: %s', (message) => {
    expect([isRefusal(message, true), isRedirect(message)]).toEqual([true, REDIRECTS.includes(message)]);
    const error = callError('test.one', new CommandFailure('reply', message), false, true);
    expect(error).toMatchObject({ code: 'SCRIPT_REFUSED', redisCode: message.split(' ', 1)[0] });
    expect(error.message).toContain('The call had no effect.');
    // Not so if it says more or less, or a script raised it.
    const ends = message.startsWith('MISCONF Errors') ? [] : [`${message} x`, `${message}\nx`];
    for (const other of [...ends, `x ${message}`, message.slice(0, message.indexOf(' ') + 3)]) {
      expect(callError('test.one', new CommandFailure('reply', other), false, true).message).not.toContain('no effect');
    }
    for (const tail of [` script: ${SHA}, on @user_script:2.`, ' script: on @user_script:2.', ', on @user_script:2.']) {
      expect(callError('test.one', new CommandFailure('reply', message + tail), false, true)).toMatchObject({
        code: 'SCRIPT_FAILED',
      });
    }
  });

  it.each([
    ['OOM quota', 'UNKNOWN_OUTCOME'],
    ['READONLY', 'UNKNOWN_OUTCOME'],
    ['BUSY account', 'UNKNOWN_OUTCOME'],
    ['NOPERM you', 'UNKNOWN_OUTCOME'],
    ['MOVED 1 nowhere', 'UNKNOWN_OUTCOME'],
    ['MOVED 1 a:1 b:2', 'UNKNOWN_OUTCOME'],
    ['ASK me', 'UNKNOWN_OUTCOME'],
    ['NOSCRIPT No matching script. Please use EVAL', 'UNKNOWN_OUTCOME'],
    ['MISCONF Errors writing to the AOF file: x script: y', 'UNKNOWN_OUTCOME'],
    ['WRONGTYPE Operation against a key', 'SCRIPT_FAILED'],
    ['MYCODE OOM', 'SCRIPT_FAILED'],
    ['oom x', 'SCRIPT_FAILED'],
    ['', 'SCRIPT_FAILED'],
  ])('that a script may have returned is not a refusal: %s', (message, code) => {
    expect(isRefusal(message, true)).toBe(false);
    expect(callError('test.one', new CommandFailure('reply', message), false, true)).toMatchObject({ code });
  });

  it('has the lines of the source, which begins in line 2 of the form', () => {
    for (const [raw, text] of [
      [`ERR user_script:3: x script: ${SHA}, on @user_script:3.`, 'ERR user_script:2: x'],
      ['ERR user_script:3: x script: on @user_script:3.', 'ERR user_script:2: x'],
      ['ERR user_script:3: x, on @user_script:3.', 'ERR user_script:2: x'],
      [`MYCODE x script: ${SHA}, on @user_script:12.`, 'MYCODE x (user_script:11)'],
      ['ERR user_script:9: user_script:10: x', 'ERR user_script:8: user_script:9: x'],
      [
        "ERR Error compiling script (new function): user_script:4: '=' expected near 'x'",
        "ERR Error compiling script (new function): user_script:3: '=' expected near 'x'",
      ],
      ["ERR user_script:5: 'end' expected (to close 'if' at line 3) near '<eof>'",
       "ERR user_script:4: 'end' expected (to close 'if' at line 2) near '<eof>'"], // prettier-ignore
      [`MYCODE script: ${'g'.repeat(40)}, x`, `MYCODE script: ${'g'.repeat(40)}, x`],
    ] as const) {
      expect(inSource(raw)).toBe(text);
    }
    expect(saysRaised('MYCODE x on @user_script:1.')).toBe(false);
  });
});

describe('a failed command becomes the error of its calls:', () => {
  it.each([
    ['reply', 'ERR user_script:2: x', false, 'SCRIPT_FAILED', 'test.one failed: ERR user_script:1: x'],
    ['reply', 'no code', false, 'SCRIPT_FAILED', 'test.one failed: ERR no code'],
    ['reply', REFUSALS[0], true, 'UNKNOWN_OUTCOME', 'its reply was lost, and a second attempt failed with'],
    ['reply', `MYCODE x script: ${SHA}, on @user_script:2.`, true, 'SCRIPT_FAILED', 'failed: MYCODE x (user_script:1)'],
    ['not-sent', 'closed.', true, 'UNKNOWN_OUTCOME', 'a second attempt failed with "closed"'],
    ['not-sent', 'a.b closed', false, 'NOT_SENT', 'test.one did not run: a.b closed. The call had no effect.'],
    ['lost', 'closed.', false, 'UNKNOWN_OUTCOME', 'test.one may have run, or may still run: closed. Repeat the call'],
    ['lost', 'closed.', true, 'UNKNOWN_OUTCOME', 'test.one may have run, or may still run: closed. Repeat the call'],
  ] as const)('%s %s, lost before %s: %s', (kind, message, lost, code, text) => {
    const failure = new CommandFailure(kind, String(message));
    const error = callError('test.one', failure, lost, true) as Error & { code: string };
    expect([error.code, error.cause]).toEqual([code, code === 'SCRIPT_FAILED' ? undefined : failure]);
    expect(error.message).toContain(text);
  });

  it('errors of scripts have a code', () => {
    for (const [raw, text, code] of [
      ['MY_CODE9 a\r\nb', 'MY_CODE9 a b', 'MY_CODE9'],
      ['', 'ERR ', 'ERR'],
      ['x MYCODE y', 'ERR x MYCODE y', 'ERR'],
      ['9CODE y', 'ERR 9CODE y', 'ERR'],
      ['MyCODE y', 'ERR MyCODE y', 'ERR'],
    ]) {
      expect(scriptError('test.one', raw as string)).toMatchObject({
        message: `The script test.one failed: ${text}`,
        redisCode: code,
      });
    }
  });

  it('a value that is not an Error becomes one, and its outcome is unknown', () => {
    const error = new Error('broken');
    expect([asError(error), asError('text').message]).toEqual([error, '"text"']);
    const failure = new CommandFailure('not-sent', 'closed');
    expect(asFailure(failure)).toBe(failure);
    expect(asFailure(error)).toMatchObject({ kind: 'lost', message: 'broken', mayHaveRun: true });
  });

  it('a call without a reply at its deadline was not sent, or has an unknown outcome', () => {
    const none = (): void => undefined;
    const call = new Call(append, 0, undefined, none, none);
    const [notRun, unknown] = [
      'The script test.append did not run',
      'The script test.append may have run, or may still run: no reply came',
    ];
    expect(expiryError(call, false).message).toBe(
      `${notRun} by its deadline (deadlineMs), for example because Redis was unavailable, or Redis or this process was busy. The call had no effect, so you can repeat it.`,
    );
    expect(expiryError(call, true).message).toBe(
      `${notRun} before the app closed ScriptRegistry. The call had no effect, so you can repeat it.`,
    );
    call.lost = true;
    expect(expiryError(call, false)).toMatchObject({
      code: 'UNKNOWN_OUTCOME',
      message: `${unknown} by its deadline (deadlineMs). Repeat the call only if a second run is harmless.`,
    });
    [call.inFlight, call.lost] = [true, false];
    expect(expiryError(call, true).message).toBe(
      `${unknown} before the app closed ScriptRegistry. Repeat the call only if a second run is harmless.`,
    );
  });
});
