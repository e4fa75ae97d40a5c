import { Test } from '@nestjs/testing';
import { CatsController, Jobs, Pusher } from '../examples/testing/decorated';

/** The classes of examples/testing without their modules, and without the helpers of luanest/testing. */

const UNAVAILABLE =
  /OnceService|ScheduledLockService|(IdempotencyInterceptor|ScheduledLockInterceptor|RateLimitGuard): The module that it needs is not imported/;

test('a decorated method of an object that no app made throws, with what to do', async () => {
  expect(() => new Jobs().build()).toThrow(
    /^@ScheduledLock on Jobs\.build: .*ScheduledLockService.*ScheduledLockModule\.forRoot\(\).*undecorated\(\) of luanest\/testing/,
  );
  await expect(new Pusher().on({ id: '1' })).rejects.toThrow(
    /^@Once on Pusher\.on: .*OnceService.*OnceModule\.forRoot\(\).*undecorated\(\) of luanest\/testing/,
  );
});

test.each([Jobs, Pusher])('%p does not compile without its service', async (type) => {
  await expect(Test.createTestingModule({ providers: [type] }).compile()).rejects.toThrow(UNAVAILABLE);
});

test('a controller with RateLimitGuard does not compile without RateLimitModule', async () => {
  const module = Test.createTestingModule({ controllers: [CatsController] });
  await expect(module.compile()).rejects.toThrow(UNAVAILABLE);
});
