import { Controller, Post } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host';
import { Test } from '@nestjs/testing';
import { Idempotent, IdempotencyInterceptor, OnceService } from 'luanest/once';
import { EMPTY } from 'rxjs';
import { CatsController, Jobs, Pusher } from '../examples/testing/decorated';

/** The classes of examples/testing, in a process that does not import luanest/testing. */

const UNAVAILABLE = /OnceService|ScheduledLockService|RateLimitService/;

test('a decorated method of an object that no app made throws, with what to do', async () => {
  expect(() => new Jobs().build()).toThrow(
    /^@ScheduledLock on Jobs\.build: .*ScheduledLockService.*ScheduledLockModule\.forRoot\(\).*import 'luanest\/testing'/,
  );
  await expect(new Pusher().on({ id: '1' })).rejects.toThrow(
    /^@Once on Pusher\.on: .*OnceService.*OnceModule\.forRoot\(\).*import 'luanest\/testing'/,
  );
});

test.each([Jobs, Pusher])('%p does not compile without its service', async (type) => {
  await expect(Test.createTestingModule({ providers: [type] }).compile()).rejects.toThrow(UNAVAILABLE);
});

test('a controller with RateLimitGuard does not compile without RateLimitService', async () => {
  const module = Test.createTestingModule({ controllers: [CatsController] });
  await expect(module.compile()).rejects.toThrow(UNAVAILABLE);
});

test('a request with a mock of OnceService names the module that is missing', async () => {
  @Controller()
  class Orders {
    @Post()
    @Idempotent()
    create(): void {}
  }
  const module = await Test.createTestingModule({
    controllers: [Orders],
    providers: [IdempotencyInterceptor, { provide: OnceService, useValue: { claim: jest.fn() } }],
  }).compile();
  const handler = Reflect.get<Orders, 'create'>(Orders.prototype, 'create');
  const context = new ExecutionContextHost([{ method: 'POST', headers: {} }], Orders, handler);
  expect(() => module.get(IdempotencyInterceptor).intercept(context, { handle: () => EMPTY })).toThrow(
    'IdempotencyInterceptor: There is no OnceModule here, so nothing runs; import OnceModule.forRoot(), or in a unit test ' +
      "import 'luanest/testing' to let the mock of OnceService decide.",
  );
});
