import { Controller, Injectable, Module, Post } from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host';
import { Reflector } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  Idempotent,
  IdempotencyInterceptor,
  type IdempotencyRouteOptions,
  OnceModule,
  OnceService,
} from 'luanest/once';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { Observable, of } from 'rxjs';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { openHttp, platforms } from './http-support';

let runs = 0;
let gate: Promise<void> | undefined;

function routes(options: IdempotencyRouteOptions) {
  @Controller()
  class Routes {
    @Post('gated')
    @Idempotent(options)
    async gated(): Promise<unknown> {
      runs += 1;
      await gate;
      return { run: runs };
    }
  }
  return Routes;
}

function closedGate(): () => void {
  let open = (): void => undefined;
  gate = new Promise((resolve) => (open = resolve));
  return open;
}

beforeEach(() => {
  runs = 0;
  gate = undefined;
});

it('a handler that never ends keeps its key for maxLeaseMs and a lease, not forever', async () => {
  const [, adapter] = platforms[0] as (typeof platforms)[number];
  const controllers = [routes({ leaseMs: 1_000 })];
  const once = { maxLeaseMs: 500 };
  const http = await openHttp({ adapter: adapter(), client: standaloneClient(), controllers, once });
  const release = closedGate();
  const first = http.post('/gated', 'k1');
  await eventually(() => expect(runs).toBe(1));
  expect((await http.post('/gated', 'k1')).status).toBe(409);
  gate = undefined;
  await eventually(async () => expect((await http.post('/gated', 'k1')).status).toBe(201), { timeoutMs: 20_000 });
  expect(runs).toBe(2);
  release();
  await first;
  await http.close();
});

describe('the subject of a request', () => {
  const [, adapter] = platforms[0] as (typeof platforms)[number];
  it.each([
    ['42', 42, 201],
    ['42n', 42n, 201],
    ['null', null, 401],
    ['empty', '', 401],
  ])('%s', async (_name, known, status) => {
    const idempotency = { subject: () => known };
    const controllers = [routes({})];
    const http = await openHttp({ adapter: adapter(), client: standaloneClient(), controllers, idempotency });
    const answer = await http.post('/gated', 'k1');
    expect(answer.status).toBe(status);
    if (status === 401) expect(JSON.parse(answer.body)).toMatchObject({ code: 'SUBJECT_UNKNOWN' });
    else expect((await http.post('/gated', 'k1')).replayed).toBe('true');
    await http.close();
  });
});

describe('@Idempotent() on a method that is not an HTTP route', () => {
  const [, adapter] = platforms[0] as (typeof platforms)[number];

  @Controller()
  class Messages {
    @MessagePattern('paid')
    @Idempotent()
    onPaid(): void {
      runs += 1;
    }
  }

  @Injectable()
  class Service {
    @Idempotent()
    pay(): void {
      runs += 1;
    }
  }

  it.each([
    ['Messages.onPaid', { controllers: [Messages] }],
    ['Service.pay', { controllers: [], providers: [Service] }],
  ])('fails at boot, and names %s', async (where, classes) => {
    const client = standaloneClient();
    const opening = openHttp({ adapter: adapter(), client, ...classes });
    await expect(opening).rejects.toThrow(`@Idempotent on ${where}: The method is not an HTTP route`);
    client.disconnect();
  });

  it('refuses messages of a decorated controller, and lets all others pass', () => {
    @Controller()
    @Idempotent()
    class Mixed {
      @MessagePattern('paid')
      onPaid(): void {}
    }
    class Plain {
      onPaid(): void {}
    }
    const parts = { settings: { header: 'Idempotency-Key' }, routes: () => ({ of: () => undefined }) } as never;
    const interceptor = new IdempotencyInterceptor({} as OnceService, new Reflector(), parts);
    const message = (target: typeof Mixed | typeof Plain) => {
      const context = new ExecutionContextHost([], target, target.prototype.onPaid.bind(undefined));
      context.setType('rpc');
      return interceptor.intercept(context, { handle: () => of('handled') });
    };
    expect(() => message(Mixed)).toThrow('The method is not an HTTP route');
    expect(message(Plain)).toBeInstanceOf(Observable);
  });
});

it('is refused at boot in a module that sees OnceService, but not the rest of OnceModule', async () => {
  @Module({
    imports: [OnceModule.forRoot({ isGlobal: false, idempotency: { subject: () => 'ann' } })],
    providers: [{ provide: 'once', inject: [OnceService], useFactory: (once: OnceService) => once }],
    exports: ['once'],
  })
  class Wrapper {}
  const client = standaloneClient();
  const building = Test.createTestingModule({
    imports: [ScriptRegistryModule.forRoot({ client }), Wrapper],
    controllers: [routes({})],
    providers: [{ provide: OnceService, inject: ['once'], useFactory: (once: OnceService) => once }],
  });
  await expect(building.compile()).rejects.toThrow(
    /IdempotencyInterceptor: The module that it needs is not imported\. Add OnceModule\.forRoot/,
  );
  client.disconnect();
});
