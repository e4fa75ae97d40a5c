import { Retries } from '../src';

it('a call is made again until it is answered, and each failure is reported', async () => {
  const failures: [string, unknown][] = [];
  const retries = new Retries<'settle'>((during, error) => void failures.push([during, error]));
  let calls = 0;
  const call = (): Promise<number> => (++calls < 3 ? Promise.reject(new Error(`${calls}`)) : Promise.resolve(calls));
  const running = retries.run('settle', () => false, call);
  expect(retries.size).toBe(1);
  expect(await running).toBe(3);
  expect(failures).toEqual([
    ['settle', new Error('1')],
    ['settle', new Error('2')],
  ]);
  await retries.settled();
  expect(retries.size).toBe(0);
});

it('a call is given up when there is no use in it, and is made at most once by once', async () => {
  let calls = 0;
  const retries = new Retries<'settle'>(() => undefined);
  const call = (): Promise<never> => Promise.reject(new Error(`${++calls}`));
  expect(await retries.run('settle', () => calls === 2, call)).toBeUndefined();
  expect(await retries.once('settle', call)).toBeUndefined();
  expect(calls).toBe(3);
});

it('close ends the pauses, and no call is made again', async () => {
  let calls = 0;
  let failed = (): void => undefined;
  const failure = new Promise<void>((resolve) => (failed = resolve));
  const retries = new Retries<'settle'>(() => calls === 8 && failed());
  const running = retries.run(
    'settle',
    () => false,
    () => Promise.reject(new Error(`${++calls}`)),
  );
  // The pause after the eighth failure is half a second or longer.
  await failure;
  const closedAt = performance.now();
  retries.close();
  expect(await running).toBeUndefined();
  expect(performance.now() - closedAt).toBeLessThan(400);
  expect(calls).toBe(8);
  expect(
    await retries.run(
      'settle',
      () => false,
      () => Promise.resolve(1),
    ),
  ).toBeUndefined();
});
