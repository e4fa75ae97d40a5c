import { defineScript } from 'luanest/script-registry';
import { CommandFailure } from '../src/connection/port';
import { asError, asFailure, asksForSingles, callError, expiryError, scriptError } from '../src/group/settle';
import { callOf } from './group-support';
import { shapes } from './support';

const inScript = (message: string): string => message.replace('user_script', 'script');
const named = { name: 'test.one', inScript };

describe('a failed command becomes the error of its calls:', () => {
  it.each([
    ['reply', 'ERR some@user_script: 1', false, 'SCRIPT_FAILED', 'test.one failed: ERR some@script: 1'],
    ['reply', 'no code', false, 'SCRIPT_FAILED', 'test.one failed: ERR no code'],
    ['reply', 'OOM too much.', false, 'SCRIPT_REFUSED', 'Redis refused to run test.one: OOM too much. The call'],
    ['reply', 'NOSCRIPT No matching script.', false, 'SCRIPT_REFUSED', 'Redis refused to run test.one: NOSCRIPT No'],
    ['reply', 'NOSCRIPT other', false, 'SCRIPT_FAILED', 'test.one failed: NOSCRIPT other'],
    ['reply', `OOM x script: ${'a'.repeat(40)}`, true, 'SCRIPT_FAILED', 'test.one failed: OOM x script: aaaa'],
    [
      'reply',
      'OOM x.',
      true,
      'UNKNOWN_OUTCOME',
      'its reply was lost, and when it was sent again, it failed with "OOM x". Repeat',
    ],
    ['not-sent', 'closed.', true, 'UNKNOWN_OUTCOME', 'its reply was lost, and when it was sent again, it failed with'],
    ['not-sent', 'a.b closed', false, 'NOT_SENT', 'test.one did not run: a.b closed. The call had no effect.'],
    ['not-sent', 'closed.', false, 'NOT_SENT', 'test.one did not run: closed. The call had no effect.'],
    ['lost', 'closed.', false, 'UNKNOWN_OUTCOME', 'test.one may have run, or may still run: closed. Repeat the call'],
    ['lost', 'closed.', true, 'UNKNOWN_OUTCOME', 'test.one may have run, or may still run: closed. Repeat the call'],
  ] as const)('%s %s, lost before %s: %s', (kind, message, lost, code, text) => {
    const failure = new CommandFailure(kind, message);
    const error = callError(named, failure, lost) as Error & { code: string };
    expect(error.code).toBe(code);
    expect(error.message).toContain(text);
    expect(error.cause).toBe(code === 'SCRIPT_FAILED' ? undefined : failure);
  });

  it.each(
    'OOM READONLY MISCONF NOREPLICAS NOPERM NOAUTH BUSY LOADING MASTERDOWN MOVED ASK TRYAGAIN CROSSSLOT CLUSTERDOWN'.split(
      ' ',
    ),
  )('%s is a refusal with that code', (redisCode) => {
    const error = callError(named, new CommandFailure('reply', `${redisCode} text`), false);
    expect(error).toMatchObject({ code: 'SCRIPT_REFUSED', redisCode });
  });

  it('calls go alone after a redirection, and after NOPERM if they were several', () => {
    const asks = (message: string, calls: number, kind: 'reply' | 'lost' = 'reply'): boolean =>
      asksForSingles(new CommandFailure(kind, message), calls, true);
    for (const code of ['MOVED', 'ASK', 'TRYAGAIN', 'CROSSSLOT', 'CLUSTERDOWN']) {
      expect([asks(`${code} 1`, 1), asks(`${code} 1`, 2), asks(`${code} 1`, 2, 'lost')]).toEqual([true, true, false]);
      expect(asks(`${code} 1 script: ${'0'.repeat(40)}`, 2)).toBe(false);
    }
    expect([asks('NOPERM', 1), asks('NOPERM', 2), asks('OOM', 2)]).toEqual([false, true, false]);
  });

  it('calls go alone if a Cluster sent their command twice, and the second node lacks the script', () => {
    const asks = (message: string, mayHaveRun: boolean, clustered: boolean): boolean =>
      asksForSingles(new CommandFailure('reply', message, mayHaveRun), 1, clustered);
    expect(asks('NOSCRIPT No matching script.', true, true)).toBe(true);
    expect(asks('NOSCRIPT No matching script.', true, false)).toBe(false);
    expect(asks('NOSCRIPT No matching script.', false, true)).toBe(false);
    expect(asks('ERR other', true, true)).toBe(false);
  });

  it('errors of scripts are on one line, end at the first NUL, and have a code', () => {
    const textOf = (raw: string): [string, string] => {
      const { message, redisCode } = scriptError(named, raw);
      return [message, redisCode];
    };
    expect(textOf('MY_CODE9 a\r\nb\nc\n\r\n')).toEqual(['test.one failed: MY_CODE9 a  b c', 'MY_CODE9']);
    expect(textOf('a\0b')).toEqual(['test.one failed: ERR a', 'ERR']);
    expect(textOf('')).toEqual(['test.one failed: ERR ', 'ERR']);
    expect(textOf('x MYCODE y')).toEqual(['test.one failed: ERR x MYCODE y', 'ERR']);
    expect(textOf('9CODE y')).toEqual(['test.one failed: ERR 9CODE y', 'ERR']);
    expect(textOf('MyCODE y')).toEqual(['test.one failed: ERR MyCODE y', 'ERR']);
  });

  it('a value that is not an Error becomes one, and its outcome is unknown', () => {
    const error = new Error('broken');
    expect([asError(error), asError('text').message]).toEqual([error, '"text"']);
    const failure = new CommandFailure('not-sent', 'closed');
    expect(asFailure(failure)).toBe(failure);
    expect(asFailure(error)).toMatchObject({ kind: 'lost', message: 'broken', mayHaveRun: true });
  });

  it('a call without a reply at its deadline was not sent, or has an unknown outcome', () => {
    const { call } = callOf(shapes);
    expect(expiryError(call, false)).toMatchObject({
      code: 'NOT_SENT',
      message:
        'test.shapes did not run by its deadline, for example because Redis or this process was busy, or Redis was ' +
        'unavailable. The call had no effect.',
    });
    expect(expiryError(call, true).message).toBe(
      'test.shapes did not run before ScriptRegistry was closed. The call had no effect.',
    );
    call.inFlight = true;
    expect(expiryError(call, true).message).toBe(
      'No reply to test.shapes came before ScriptRegistry was closed. The script may have run, or may still run.',
    );
    [call.inFlight, call.lost] = [false, true];
    expect(expiryError(call, false)).toMatchObject({
      code: 'UNKNOWN_OUTCOME',
      message: 'No reply to test.shapes came by its deadline. The script may have run, or may still run.',
    });
  });
});

describe('a call', () => {
  it('is settled once', () => {
    const { call, settled } = callOf(shapes);
    expect([call.mayHaveRun, call.replicas, call.keys, call.args]).toEqual([false, 0, [], []]);
    expect(call.resolve(1, NaN)).toBeUndefined();
    expect([call.reject(new Error('late')), call.resolve(2, NaN), settled]).toEqual([false, undefined, [1]]);
    const other = callOf(shapes);
    expect([other.call.reject(new Error('first')), other.call.reject(new Error('late'))]).toEqual([true, false]);
    expect(other.call.resolve(1, NaN)).toBeUndefined();
    expect(other.settled).toEqual([new Error('first')]);
  });

  it('with WAIT returns the replicas too', () => {
    const { call, settled } = callOf(shapes, { replicas: 2, timeoutMs: 1 });
    call.replicas = 1;
    call.resolve('x', NaN);
    expect(settled).toEqual([{ result: 'x', replicas: 1 }]);
  });

  it('stays open if `reply` threw', () => {
    const cause = new Error('no');
    const broken = defineScript({
      ...{ name: 'test.broken', keys: ['any'], args: {}, source: 'return 1' },
      reply: () => {
        throw cause;
      },
    });
    const { call, settled } = callOf(broken);
    const problem = call.resolve(1, NaN);
    expect([problem?.message, problem?.cause, settled, call.settled]).toEqual([
      'test.broken ran, but its `reply` function threw, so the result is lost: Error: no',
      ...[cause, [], false],
    ]);
  });
});
