import type { AddressInfo, Server } from 'node:net';
import { Controller, Injectable, Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientProxyFactory, EventPattern, MessagePattern, Payload, Transport } from '@nestjs/microservices';
import { Once, OnceModule, OnceService } from 'luanest/once';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { firstValueFrom, of } from 'rxjs';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';

interface Message {
  id: string;
}
const pushed: string[] = [];
let gate: Promise<void> | undefined;

@Controller()
class Handlers {
  @Once({ id: (message: Message) => message.id })
  @MessagePattern('above')
  above(@Payload() message: Message): string {
    pushed.push(`above ${message.id}`);
    return `pushed ${message.id}`;
  }

  @MessagePattern('below')
  @Once({ id: (message: Message) => message.id })
  below(@Payload() message: Message) {
    pushed.push(`below ${message.id}`);
    return of('early', `pushed ${message.id}`);
  }

  @EventPattern('event')
  @Once({ id: (message: Message) => message.id })
  event(@Payload() message: Message): void {
    pushed.push(`event ${message.id}`);
  }
}

@Injectable()
class Plain {
  @Once({ id: (message: Message) => message.id, scope: 'plain' })
  async push(message: Message): Promise<string> {
    pushed.push(`plain ${message.id}`);
    await gate;
    return 'done';
  }

  @Once({ id: (message: Message) => message.id, scope: 'risky', delivery: 'at-most-once' })
  async risky(message: Message): Promise<string> {
    pushed.push(`risky ${message.id}`);
    await gate;
    return 'done';
  }
}

describe('@Once()', () => {
  const client = standaloneClient();
  let app: INestApplicationContext;
  let send: (pattern: string, message: Message) => Promise<unknown>;
  let emit: (pattern: string, message: Message) => Promise<unknown>;
  let close: () => unknown;

  beforeAll(async () => {
    class App {}
    Module({
      imports: [ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }), OnceModule.forRoot()],
      controllers: [Handlers],
      providers: [Plain],
    })(App);
    const options = { host: '127.0.0.1', port: 0 };
    const service = await NestFactory.createMicroservice(App, { transport: Transport.TCP, options, logger: false });
    await service.listen();
    app = service;
    const { port } = service.unwrap<Server>().address() as AddressInfo;
    const proxy = ClientProxyFactory.create({ transport: Transport.TCP, options: { ...options, port } });
    send = (pattern, message) => firstValueFrom(proxy.send(pattern, message));
    emit = (pattern, message) => firstValueFrom(proxy.emit(pattern, message), { defaultValue: undefined });
    close = () => proxy.close();
  });
  beforeEach(() => {
    pushed.length = 0;
    gate = undefined;
  });
  afterAll(async () => {
    await close();
    await app.close();
    client.disconnect();
  });

  it.each(['above', 'below'])(
    'lets a microservice handler run once per message, applied %s the pattern',
    async (pattern) => {
      for (const id of ['1', '2', '1']) expect(await send(pattern, { id })).toBe(`pushed ${id}`);
      expect(pushed).toEqual([`${pattern} 1`, `${pattern} 2`]);
    },
  );

  it('lets an event handler run once per message', async () => {
    for (const id of ['1', '1', '2']) await emit('event', { id });
    await eventually(() => expect([...pushed].sort()).toEqual(['event 1', 'event 2']));
  });

  it('works on a provider, and throws or skips while another call handles the message', async () => {
    const plain = app.get(Plain);
    let open = (): void => undefined;
    gate = new Promise((resolve) => (open = resolve));
    const first = [plain.push({ id: '1' }), plain.risky({ id: '1' })];
    await eventually(() => expect(pushed).toHaveLength(2));
    await expect(plain.push({ id: '1' })).rejects.toMatchObject({ code: 'ONCE_IN_PROGRESS' });
    expect(await plain.risky({ id: '1' })).toBeUndefined();
    open();
    expect(await Promise.all(first)).toEqual(['done', 'done']);
    expect(await plain.push({ id: '1' })).toBe('done');
    expect(pushed).toEqual(['plain 1', 'risky 1']);
  });

  it.each(['', 5, 'x'.repeat(257), '\ud800'])('refuses the scope %p when the class is loaded', (scope) => {
    expect(() => {
      class Scoped {
        @Once({ id: () => '1', scope: scope as string })
        push(): void {}
      }
      return Scoped;
    }).toThrow(/^@Once on Scoped\.push: scope is .*\. Expected 1 to 256 characters of well-formed Unicode\.$/);
  });

  it('refuses a message without an id, and an object that Nest did not create', async () => {
    await expect(app.get(Plain).push({} as Message)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: '@Once on Plain.push: id is undefined. Expected 1 to 512 characters.',
    });
    const refused = new Plain().push({ id: 'x' });
    await expect(refused).rejects.toMatchObject({
      code: 'SETUP',
      message: expect.stringMatching(
        /^@Once on Plain\.push: The method did not run, because Nest has not given its object a OnceService\./,
      ) as string,
    });
    expect(app.get(OnceService)).toBeInstanceOf(OnceService);
  });
});
