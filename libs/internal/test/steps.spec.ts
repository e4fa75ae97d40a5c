import { NotSentError, ScriptRefusedError, Steps, UnknownOutcomeError } from '../src';

const notSent = (): Promise<never> => Promise.reject(new NotSentError('x did not run.'));
const refused = (): Promise<never> => Promise.reject(new ScriptRefusedError('Redis refused to run x.', 'OOM'));
const unknown = (): Promise<never> => Promise.reject(new UnknownOutcomeError('x may have run.'));
const failed = (): Promise<never> => Promise.reject(new TypeError('x failed'));
const done = (): Promise<number> => Promise.resolve(1);

const codeOf = (operation: Promise<unknown>): Promise<unknown> =>
  operation.then(
    () => 'done',
    (error: Error & { code?: string }) => error.code ?? error.message,
  );

describe('the calls of one operation', () => {
  const steps = (): Steps => new Steps('Lib.operate');

  it('have no effect if none of them had one', async () => {
    expect(await codeOf(steps().one(notSent()))).toBe('NOT_SENT');
    expect(await codeOf(steps().all([refused(), notSent()]))).toBe('SCRIPT_REFUSED');
    const reading = steps();
    await reading.read(done());
    expect(await codeOf(reading.one(notSent()))).toBe('NOT_SENT');
  });

  it.each([
    ['a result', done],
    ['an unknown outcome', unknown],
    ['another error', failed],
  ])('have an unknown outcome after %s and a call without effect', async (_name, first) => {
    for (const last of [notSent, refused]) {
      const operation = steps();
      await operation.one(first()).catch(() => undefined);
      expect(await codeOf(operation.read(last()))).toBe('UNKNOWN_OUTCOME');
      expect(await codeOf(operation.one(last()))).toBe('UNKNOWN_OUTCOME');
      expect(await codeOf(steps().all([last(), first()]))).toBe('UNKNOWN_OUTCOME');
    }
  });

  it('keep errors that do not claim to be without effect', async () => {
    expect(await codeOf(steps().all([done(), failed()]))).toBe('x failed');
    expect(await codeOf(steps().all([done(), unknown()]))).toBe('UNKNOWN_OUTCOME');
    expect(await steps().all([done(), done()])).toEqual([1, 1]);
  });

  it('wait for calls that still run before the outcome is known', async () => {
    let finish = (): void => undefined;
    const slow = new Promise<void>((resolve) => (finish = resolve));
    const outcome = codeOf(steps().all([notSent(), slow]));
    finish();
    expect(await outcome).toBe('UNKNOWN_OUTCOME');
  });

  it('name the operation, the call that failed and what to do', async () => {
    const operation = steps();
    await operation.one(done());
    await expect(operation.one(notSent())).rejects.toMatchObject({
      message:
        'Lib.operate failed halfway: one of its calls to Redis failed, and others may have had an effect. NOT_SENT: x did not run. Call Lib.operate again: that is safe.',
      cause: { code: 'NOT_SENT' },
    });
  });
});
