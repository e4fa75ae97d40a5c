import { ConsoleLogger, Controller, Inject, Injectable, Scope, type ModuleMetadata } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import {
  StreamConsumer,
  StreamConsumerModule,
  StreamConsumerService,
  type StreamConsumerModuleOptions,
  type StreamMessage,
} from 'luanest/stream-consumer';
import { startRedis } from 'luanest/testing/servers';
import { InvalidOptionError, SetupError } from '../../internal/src';
import { eventually } from '../../../test/support/wait';
import { boot, closeAll, quiet } from './support';

afterEach(closeAll);

@Injectable()
class Fine {
  readonly seen: unknown[] = [];
  @StreamConsumer({ stream: 'orders', group: 'mail' })
  handle({ payload }: StreamMessage): void {
    this.seen.push(payload);
  }
}

async function refused(
  metadata: ModuleMetadata,
  message: RegExp,
  type: new (message: string) => Error = SetupError,
  options: StreamConsumerModuleOptions = {},
): Promise<void> {
  const error: unknown = await boot(metadata, options).catch((refusal: unknown) => refusal);
  expect(error).toBeInstanceOf(type);
  expect((error as Error).message).toMatch(message);
}

describe('boot', () => {
  it('starts handlers of providers and of controllers', async () => {
    @Controller()
    class Door {
      readonly seen: unknown[] = [];
      @StreamConsumer({ stream: 'orders', group: 'door' })
      handle({ payload }: StreamMessage): void {
        this.seen.push(payload);
      }
    }
    const app = await boot({ providers: [Fine], controllers: [Door] });
    await app.get(StreamConsumerService).publish('orders', 'first');
    await eventually(() => expect([app.get(Fine).seen, app.get(Door).seen]).toEqual([['first'], ['first']]));
  });

  it('makes all groups before anything is taken', async () => {
    @Injectable()
    class Many {
      readonly seen: string[] = [];
      @StreamConsumer({ stream: 'many', group: 'a' })
      a({ payload }: StreamMessage): void {
        this.seen.push(`a ${String(payload)}`);
      }
      @StreamConsumer({ stream: 'many', group: 'b' })
      b({ payload }: StreamMessage): void {
        this.seen.push(`b ${String(payload)}`);
      }
      @StreamConsumer({ stream: 'many', group: 'c' })
      c({ payload }: StreamMessage): void {
        this.seen.push(`c ${String(payload)}`);
      }
      constructor(private readonly streams: StreamConsumerService) {}
      async onModuleInit(): Promise<void> {
        await this.streams.publish('many', 1);
      }
    }
    const app = await boot({ providers: [Many] });
    await eventually(() => expect([...app.get(Many).seen].sort()).toEqual(['a 1', 'b 1', 'c 1']));
  });

  it('boots while Redis is unavailable; consumers start when it is back', async () => {
    const server = await startRedis();
    const client = quiet(new Redis(server.port, { retryStrategy: () => 50 }));
    await server.kill();
    const app = await boot({ providers: [Fine] }, { drainMs: 0 }, { client, deadlineMs: 300 });
    expect(app.get(Fine).seen).toEqual([]);
    await server.restart();
    const streams = app.get(StreamConsumerService);
    await eventually(() => streams.publish('orders', 'late', { operationId: 'o' }));
    await eventually(() => expect(app.get(Fine).seen).toEqual(['late']));
    await closeAll();
    await server.stop();
  });

  it('refuses a handler whose module is not imported', async () => {
    const app = Test.createTestingModule({ providers: [Fine] }).setLogger(new ConsoleLogger({ logLevels: [] }));
    await expect(app.compile()).rejects.toThrow(/@StreamConsumer on Fine\.handle needs StreamConsumerModule\.forRoot/);
  });

  it('refuses request-scoped and transient handlers', async () => {
    for (const scope of [Scope.REQUEST, Scope.TRANSIENT]) {
      @Injectable({ scope })
      class Scoped {
        @StreamConsumer({ stream: 'orders', group: 'g' })
        handle(): void {}
      }
      await refused({ providers: [Scoped] }, /^Scoped\.handle: its class is request-scoped or transient/);
    }
    @Injectable()
    class Depends {
      constructor(@Inject(REQUEST) readonly request: unknown) {}
      @StreamConsumer({ stream: 'orders', group: 'g' })
      handle(): void {}
    }
    await refused({ providers: [Depends] }, /^Depends\.handle: its class is request-scoped/);
  });

  it('refuses two handlers of one group, and one that is provided twice', async () => {
    @Injectable()
    class Second {
      @StreamConsumer({ stream: 'orders', group: 'mail' })
      other(): void {}
    }
    await refused(
      { providers: [Fine, Second] },
      /Second\.other: Fine\.handle is already the handler of stream orders, group mail/,
    );
    await refused(
      { providers: [Fine, { provide: 'again', useClass: Fine }] },
      /Fine\.handle: its class is provided twice/,
    );
    const app = await boot({ providers: [Fine, { provide: 'alias', useExisting: Fine }] });
    expect(app.get('alias')).toBe(app.get(Fine));
  });

  it('refuses a handler that was replaced, and the decorator where it cannot stand', async () => {
    class Base {
      @StreamConsumer({ stream: 'orders', group: 'base' })
      handle(): void {}
    }
    @Injectable()
    class Overrides extends Base {
      override handle(): void {}
    }
    await refused(
      { providers: [Overrides] },
      /^Overrides\.handle: another decorator or an override replaced the handler/,
    );
    expect(() => {
      class Twice {
        @StreamConsumer({ stream: 'orders', group: 'a' })
        @StreamConsumer({ stream: 'orders', group: 'b' })
        handle(): void {}
      }
      return Twice;
    }).toThrow(/Twice\.handle: the method has @StreamConsumer\(\) twice/);
    expect(() => {
      class Getter {
        @(StreamConsumer({ stream: 'orders', group: 'a' }) as MethodDecorator)
        get handle(): number {
          return 1;
        }
      }
      return Getter;
    }).toThrow(/^@StreamConsumer on Getter\.handle: The decorator is applied to a getter or setter\. /);
    @Injectable()
    class Inherits extends Base {}
    await boot({ providers: [Inherits] });
  });

  it('refuses the module twice', async () => {
    await expect(boot({ providers: [Fine], imports: [StreamConsumerModule.forRoot({})] })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    });
  });

  it.each<[string, StreamConsumerModuleOptions, RegExp]>([
    ['a lease', { leaseMs: 5 }, /^StreamConsumerModule: leaseMs is 5/],
    ['concurrency', { concurrency: 1.5 }, /^StreamConsumerModule: concurrency is 1\.5/],
    ['attempts', { attempts: 0 }, /^StreamConsumerModule: attempts is 0/],
    ['a period', { drainMs: Number.NaN }, /^StreamConsumerModule: drainMs is NaN/],
  ])('refuses an invalid option: %s', async (_, options, message) => {
    await refused({ providers: [Fine] }, message, InvalidOptionError, options);
  });

  it('refuses an invalid option of a handler, and names the class and method', async () => {
    class Wrong {
      @StreamConsumer({ stream: 'orders', group: 'g', pollMs: -1 })
      handle(): void {}
    }
    await refused({ providers: [Wrong] }, /^@StreamConsumer on Wrong\.handle: pollMs is -1/, InvalidOptionError);
  });

  it('refuses consumers of one group with other options in one process', async () => {
    const app = await boot({ providers: [Fine] });
    const streams = app.get(StreamConsumerService);
    const other = streams.handle({ stream: 'orders', group: 'mail', ordered: true }, () => undefined);
    await expect(other).rejects.toThrow(
      /^StreamConsumerService\.handle: ordered is true, but another consumer of stream orders, group mail in this process has false/,
    );
    const more = await streams.handle({ stream: 'orders', group: 'mail', concurrency: 1 }, () => undefined);
    await more.stop();
  });
});
