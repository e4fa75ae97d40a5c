import { Controller, Get, Injectable, UseInterceptors } from '@nestjs/common';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { ScheduledLock, ScheduledLockInterceptor, ScheduledLockService } from 'luanest/scheduled-lock';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { boot, closeAll, LATER, tick } from './support';

const imports = [ScheduleModule.forRoot()];

afterEach(closeAll);

let calls: string[] = [];
beforeEach(() => {
  calls = [];
});

/** Wraps the method and copies its metadata onto the wrapper, as tracing and monitoring decorators do. */
const Traced: MethodDecorator = (_target, _key, descriptor: PropertyDescriptor) => {
  const original = descriptor.value as (...args: unknown[]) => unknown;
  const wrapper = function (this: unknown, ...args: unknown[]): unknown {
    calls.push('traced');
    return original.apply(this, args);
  };
  for (const key of Reflect.getMetadataKeys(original) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, original), wrapper);
  }
  descriptor.value = wrapper;
};
const Locked = ScheduledLock({ name: 'job' });
const Daily = Cron(LATER);

const ORDERS: [string, MethodDecorator[]][] = [
  ['traced, locked, cron', [Traced, Locked, Daily]],
  ['traced, cron, locked', [Traced, Daily, Locked]],
  ['locked, traced, cron', [Locked, Traced, Daily]],
  ['locked, cron, traced', [Locked, Daily, Traced]],
  ['cron, traced, locked', [Daily, Traced, Locked]],
  ['cron, locked, traced', [Daily, Locked, Traced]],
  ['traced, locked, traced, cron', [Traced, Locked, Traced, Daily]],
];

it.each(ORDERS)(
  'a decorator that copies metadata may be in any order: %s',
  async (_, [first, second, third, fourth]) => {
    const Fourth: MethodDecorator = fourth ?? (() => undefined);
    @Injectable()
    class Jobs {
      constructor(private readonly locks: ScheduledLockService) {}
      @(first as MethodDecorator)
      @(second as MethodDecorator)
      @(third as MethodDecorator)
      @Fourth
      job(): string {
        this.locks.current()?.assertHeld();
        calls.push('ran');
        return 'answer';
      }
    }
    const { app } = await boot({ imports, providers: [Jobs] }, { prefix: uniquePrefix() });
    expect(await tick(app.get(Jobs), 'job')).toBe('answer');
    expect(await tick(app.get(Jobs), 'job')).toBeUndefined();
    expect(calls.filter((call) => call === 'ran')).toHaveLength(1);
    expect(calls).toContain('traced');
  },
);

it('super calls the base method under the lock that the override has', async () => {
  class Base {
    @ScheduledLock()
    @Daily
    job(suffix = ''): string | Promise<string> {
      calls.push('base');
      return `base${suffix}`;
    }
  }
  class Child extends Base {
    @ScheduledLock({ name: 'child' })
    @Daily
    override async job(): Promise<string> {
      calls.push('child');
      return `child over ${await super.job('!')}`;
    }
  }
  class Made extends Base {
    @ScheduledLock({ name: 'made' })
    @Daily
    override async job(): Promise<string> {
      return `made over ${await super.job('?')}`;
    }
  }
  const providers = [Child, { provide: Made, useFactory: () => new Made() }];
  const { app } = await boot({ imports, providers }, { prefix: uniquePrefix() });
  expect(await tick(app.get(Child), 'job')).toBe('child over base!');
  expect(calls).toEqual(['child', 'base']);
  expect(await tick(app.get(Made), 'job')).toBe('made over base?');
  const history = await app.get(ScheduledLockService).history('child');
  expect(history.map(({ status }) => status)).toEqual(['ran']);
});

it('a static method is refused at once', () => {
  expect(() => {
    class Jobs {
      @ScheduledLock()
      @Cron('0 0 1 1 *')
      static job(): void {}
    }
    return Jobs;
  }).toThrow(/^@ScheduledLock on Jobs\.job: The decorator is applied to a static member\. /);
});

it('what is not a method, and a second @ScheduledLock on one method, are refused at once', () => {
  expect(() => {
    class Jobs {
      @ScheduledLock()
      get job(): string {
        return '';
      }
    }
    return Jobs;
  }).toThrow(/^@ScheduledLock on Jobs\.job: The decorator is applied to a getter or setter\. /);
  expect(() => {
    class Jobs {
      @ScheduledLock({ name: 'upper' })
      @Cron('0 0 1 1 *')
      @ScheduledLock({ name: 'lower' })
      job(): void {}
    }
    return Jobs;
  }).toThrow(/^@ScheduledLock on Jobs\.job: @ScheduledLock\(\) is used twice on this method\. /);
});

it('boot refuses the interceptor on a route without @ScheduledLock, also by its class', async () => {
  @Controller()
  @UseInterceptors(ScheduledLockInterceptor)
  class OfClass {
    @Get('locked')
    @ScheduledLock()
    locked(): void {}
    @Get('bare')
    bare(): void {}
  }
  @Controller()
  class OfRoute {
    @Get('bare')
    @UseInterceptors(ScheduledLockInterceptor)
    bare(): void {}
  }
  for (const [controller, where] of [
    [OfClass, 'OfClass.bare'],
    [OfRoute, 'OfRoute.bare'],
  ] as const) {
    const booting = boot({ controllers: [controller] }, { prefix: uniquePrefix() });
    await expect(booting).rejects.toThrow(
      `${where}: ScheduledLockInterceptor is used on this method or on its class, but the method has no`,
    );
  }
});

it('the error for an instance that Nest did not create has the remedy', async () => {
  class Jobs {
    @ScheduledLock()
    @Cron('0 0 1 1 *')
    job(): void {}
  }
  const calling = async (): Promise<unknown> => tick(new Jobs(), 'job');
  await expect(calling()).rejects.toThrow(
    /^@ScheduledLock on Jobs\.job: The method did not run, because Nest has not given its object a ScheduledLockService.*ScheduledLockModule\.forRoot\(\).*In a unit test/,
  );
});
