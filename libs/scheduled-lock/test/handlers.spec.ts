import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { Controller, Get, Post, Scope, UseInterceptors, type INestApplication } from '@nestjs/common';
import { ClientProxyFactory, EventPattern, MessagePattern, Payload, Transport } from '@nestjs/microservices';
import { Redis } from 'ioredis';
import { firstValueFrom } from 'rxjs';
import { ScheduledLock, ScheduledLockInterceptor, ScheduledLockService } from 'luanest/scheduled-lock';
import { startFaultProxy } from 'luanest/testing/servers';
import { Gate } from '../../../test/support/gate';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { quiet } from '../../script-registry/test/support';
import { boot, compile, type Booted, type BootOptions } from './support';

describe('on HTTP handlers', () => {
  async function listening(
    controller: new (...args: never[]) => unknown,
    options: BootOptions,
  ): Promise<{ http: INestApplication; url: string; close: () => Promise<void> }> {
    const { app, client } = await compile({ controllers: [controller] }, options);
    const http = app.createNestApplication();
    await http.listen(0, '127.0.0.1');
    const close = async (): Promise<void> => {
      await http.close();
      client.disconnect();
    };
    return { http, close, url: `http://127.0.0.1:${((http.getHttpServer() as Server).address() as AddressInfo).port}` };
  }

  it('one call runs on all nodes, others get 409, and the lock goes when it has answered', async () => {
    const gate = new Gate();
    @Controller()
    class Work {
      constructor(private readonly locks: ScheduledLockService) {}
      @Post('work')
      @UseInterceptors(ScheduledLockInterceptor)
      @ScheduledLock({ name: 'work' })
      async work(): Promise<object> {
        this.locks.current()?.assertHeld();
        await gate.pass();
        return { fence: this.locks.current()?.fence };
      }
      @ScheduledLock({ name: 'nothing' })
      @UseInterceptors(ScheduledLockInterceptor)
      @Get('nothing')
      nothing(): void {}
      @ScheduledLock({ name: 'broken' })
      @UseInterceptors(ScheduledLockInterceptor)
      @Get('broken')
      broken(): void {
        throw new Error('broken');
      }
    }
    const prefix = uniquePrefix();
    const [one, other] = await Promise.all([listening(Work, { prefix }), listening(Work, { prefix })]);
    const first = fetch(`${one.url}/work`, { method: 'POST' });
    await eventually(() => expect(gate.entered).toBe(1));
    for (const { url } of [one, other]) {
      const refused = await fetch(`${url}/work`, { method: 'POST' });
      expect(refused.status).toBe(409);
      expect(await refused.json()).toMatchObject({ statusCode: 409, reason: 'skipped-held' });
    }
    gate.open();
    const { fence } = (await (await first).json()) as { fence: number };
    expect(fence).toBeGreaterThan(0);
    const second = fetch(`${other.url}/work`, { method: 'POST' });
    await eventually(() => expect(gate.entered).toBe(2));
    gate.open();
    expect(((await (await second).json()) as { fence: number }).fence).toBeGreaterThan(fence);

    expect((await fetch(`${one.url}/nothing`)).status).toBe(200);
    // A handler that throws gives the lock back, too.
    for (const { url } of [one, other]) expect((await fetch(`${url}/broken`)).status).toBe(500);
    const outcomes = await one.http.get(ScheduledLockService).history('broken');
    expect(outcomes.map(({ status }) => status)).toEqual(['failed', 'failed']);
    await Promise.all([one.close(), other.close()]);
  });

  it('without Redis answers 503, or runs unlocked, also when the handler returns nothing', async () => {
    let runs = 0;
    @Controller()
    class Work {
      constructor(private readonly locks: ScheduledLockService) {}
      @Get('open')
      @UseInterceptors(ScheduledLockInterceptor)
      @ScheduledLock({ onRedisError: 'run' })
      open(): void {
        if (this.locks.current()?.fence === 0) runs++;
      }
      @Get('closed')
      @UseInterceptors(ScheduledLockInterceptor)
      @ScheduledLock()
      closed(): void {
        runs++;
      }
    }
    const proxy = await startFaultProxy(sharedRedisUrl());
    const client = quiet(new Redis(proxy.url));
    const lock = { deadlineMs: 200 };
    const { url, close } = await listening(Work, { prefix: uniquePrefix(), lock, client });
    proxy.refuse();
    expect((await fetch(`${url}/open`)).status).toBe(200);
    const refused = await fetch(`${url}/closed`);
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ reason: 'redis-error' });
    expect(runs).toBe(1);
    proxy.pass();
    await eventually(() => expect(client.status).toBe('ready'));
    await close();
    await proxy.stop();
  });

  it('refuses at boot what it could not lock', async () => {
    @Controller()
    class Unlocked {
      @Get()
      @ScheduledLock()
      go(): void {}
    }
    const booting = (controller: new () => unknown): Promise<Booted> =>
      boot({ controllers: [controller] }, { prefix: uniquePrefix() });
    await expect(booting(Unlocked)).rejects.toThrow(
      /Unlocked\.go: the handler has @ScheduledLock\(\), but neither the handler nor its class has the interceptor that locks it\. Add @UseInterceptors/,
    );
  });

  it('locks the requests of a request-scoped controller', async () => {
    const gate = new Gate();
    @Controller({ scope: Scope.REQUEST })
    class PerRequest {
      @Get()
      @UseInterceptors(ScheduledLockInterceptor)
      @ScheduledLock()
      async go(): Promise<string> {
        await gate.pass();
        return 'done';
      }
    }
    const { url, close } = await listening(PerRequest, { prefix: uniquePrefix() });
    const first = fetch(url);
    await eventually(() => expect(gate.entered).toBe(1));
    expect((await fetch(url)).status).toBe(409);
    gate.open();
    expect(await (await first).text()).toBe('done');
    await close();
  });
});

it('on RPC handlers a call that meets another gets an RpcException with the outcome', async () => {
  const gate = new Gate();
  const events: string[] = [];
  @Controller()
  class Messages {
    @MessagePattern('sum')
    @UseInterceptors(ScheduledLockInterceptor)
    @ScheduledLock({ name: 'sum' })
    async sum(@Payload() numbers: number[]): Promise<number> {
      await gate.pass();
      return numbers.reduce((one, other) => one + other, 0);
    }
    @ScheduledLock({ name: 'noted' })
    @UseInterceptors(ScheduledLockInterceptor)
    @EventPattern('noted')
    noted(@Payload() text: string): void {
      events.push(text);
    }
  }
  const { app, client } = await compile({ controllers: [Messages] }, { prefix: uniquePrefix() });
  const service = app.createNestMicroservice({ transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 } });
  await service.listen();
  const server = service.unwrap<Server>();
  if (!server.listening) await once(server, 'listening');
  const proxy = ClientProxyFactory.create({
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
  });
  const first = firstValueFrom(proxy.send<number>('sum', [1, 2, 3]));
  await eventually(() => expect(gate.entered).toBe(1));
  await expect(firstValueFrom(proxy.send('sum', [4]))).rejects.toMatchObject({
    statusCode: 409,
    reason: 'skipped-held',
    message: 'Messages.sum did not run, because another run of it holds its lock. Try again later.',
  });
  gate.open();
  expect(await first).toBe(6);
  await firstValueFrom(proxy.emit('noted', 'hello'));
  await eventually(() => expect(events).toEqual(['hello']));
  proxy.close();
  await service.close();
  client.disconnect();
});
