import { ConsoleLogger, Inject, Injectable, Module, Scope, UseInterceptors, type ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import * as newest from '@nestjs/schedule';
import * as oldest from 'schedule-oldest';
import { ScheduledLock, ScheduledLockInterceptor, ScheduledLockModule } from 'luanest/scheduled-lock';
import { InvalidOptionError, SetupError } from '../../internal/src';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { boot, closeAll, LATER, STALE_NEVER, tick } from './support';

type Schedule = Pick<typeof newest, 'Cron' | 'Interval' | 'Timeout' | 'ScheduleModule'>;
const versions: [string, Schedule][] = [
  ['newest', newest],
  ['oldest', oldest as unknown as Schedule],
];
const NEVER = '0 0 1 1 *';

afterEach(closeAll);

describe.each(versions)('on the %s @nestjs/schedule', (_, { Cron, ScheduleModule }) => {
  it('the scheduler is found whatever a minifier has named its classes', async () => {
    const classes = (ScheduleModule.forRoot().providers ?? []).filter((provider) => typeof provider === 'function');
    const names = classes.map(({ name }) => name);
    const called = (name: (i: number) => string): void =>
      classes.forEach((one, i) => Object.defineProperty(one, 'name', { value: name(i) }));
    expect(names).toEqual(['ScheduleExplorer', 'SchedulerRegistry']);
    class Hourly {
      @ScheduledLock({ name: 'hourly' })
      @Cron(LATER)
      job(): string {
        return 'done';
      }
    }
    called(() => 'e');
    try {
      const { app } = await boot(
        { imports: [ScheduleModule.forRoot()], providers: [Hourly] },
        { prefix: uniquePrefix(), lock: { staleAfterMs: STALE_NEVER } },
      );
      expect(await tick(app.get(Hourly), 'job')).toBe('done');
    } finally {
      called((i) => names[i] ?? '');
    }
  });
});

describe.each(versions)('on the %s @nestjs/schedule boot refuses', (_, { Cron, Interval, Timeout, ScheduleModule }) => {
  const refused = async (
    metadata: ModuleMetadata,
    message: RegExp,
    type: new (message: string) => Error = SetupError,
  ): Promise<void> => {
    const booting = boot({ imports: [ScheduleModule.forRoot()], ...metadata }, { prefix: uniquePrefix() });
    const error: unknown = await booting.catch((refusal: unknown) => refusal);
    expect(error).toBeInstanceOf(type);
    expect((error as Error).message).toMatch(message);
  };

  @Injectable()
  class Fine {
    @ScheduledLock()
    @Cron(NEVER)
    job(): void {}
  }

  it('a job whose ScheduledLockModule is not imported', async () => {
    for (const providers of [[Fine], [{ provide: 'alias', useClass: Fine }]]) {
      const app = Test.createTestingModule({ imports: [ScheduleModule.forRoot()], providers });
      await expect(app.setLogger(new ConsoleLogger({ logLevels: [] })).compile()).rejects.toThrow(
        /@ScheduledLock on Fine\.job needs ScheduledLockModule\.forRoot\(\)/,
      );
    }
  });

  it('an interceptor whose ScheduledLockModule is not imported', async () => {
    class Lonely {
      @UseInterceptors(ScheduledLockInterceptor)
      @Cron(NEVER)
      job(): void {}
    }
    const app = Test.createTestingModule({ imports: [ScheduleModule.forRoot()], providers: [Lonely] });
    await expect(app.setLogger(new ConsoleLogger({ logLevels: [] })).compile()).rejects.toThrow(
      /ScheduledLockInterceptor: The module that it needs is not imported\. Add ScheduledLockModule\.forRoot/,
    );
  });

  it('a job that is decorated and not scheduled', async () => {
    class Unscheduled {
      @ScheduledLock()
      job(): void {}
    }
    await refused({ providers: [Unscheduled] }, /^Unscheduled\.job: the method has @ScheduledLock\(\) but no @Cron/);
    await refused(
      { providers: [Fine], imports: [] },
      /^Fine\.job: the job would never run, .*Import it once\. In a process that must not run jobs, import /,
    );
  });

  it('a job that is registered twice', async () => {
    @Module({ imports: [ScheduleModule.forRoot({ cronJobs: true, intervals: false })] })
    class Second {}
    @Module({ providers: [Fine] })
    class Elsewhere {}
    const twice = /^Fine\.job: its class is provided twice/;
    await refused(
      { providers: [Fine], imports: [ScheduleModule.forRoot(), Second] },
      /^Fine\.job: .* imported 2 times/,
    );
    await refused({ providers: [Fine, { provide: 'alias', useExisting: Fine }] }, twice);
    await refused({ providers: [Fine, { provide: 'other', useClass: Fine }] }, twice);
    await refused({ providers: [Fine, { provide: 'made', useFactory: () => new Fine() }] }, twice);
    await refused({ providers: [Fine], imports: [ScheduleModule.forRoot(), Elsewhere] }, twice);
  });

  it('the interceptor on a scheduled method, or on its class', async () => {
    class Intercepted {
      @UseInterceptors(ScheduledLockInterceptor)
      @Cron(NEVER)
      job(): void {}
    }
    @UseInterceptors(ScheduledLockInterceptor)
    class WhollyIntercepted {
      @Interval(1_000_000)
      job(): void {}
    }
    class Both {
      @ScheduledLock({ key: 'v1' })
      @UseInterceptors(ScheduledLockInterceptor)
      @Timeout(1_000_000)
      job(): void {}
    }
    await refused({ providers: [Intercepted] }, /^Intercepted\.job: Nest runs no interceptors on scheduled methods/);
    await refused({ providers: [WhollyIntercepted] }, /^WhollyIntercepted\.job: Nest runs no interceptors/);
    await refused({ providers: [Both] }, /^Both\.job: Nest runs no interceptors/);
  });

  it('a request-scoped or transient provider, and one that depends on such', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class PerRequest {
      @ScheduledLock()
      @Cron(NEVER)
      job(): void {}
    }
    @Injectable({ scope: Scope.TRANSIENT })
    class Transient {
      @Cron(NEVER)
      @ScheduledLock()
      job(): void {}
    }
    @Injectable({ scope: Scope.REQUEST })
    class Request {}
    @Injectable()
    class Depending {
      constructor(@Inject(Request) readonly request: Request) {}
      @Interval(1_000_000)
      @ScheduledLock()
      job(): void {}
    }
    await refused({ providers: [PerRequest] }, /^PerRequest\.job: its class is request-scoped/);
    await refused({ providers: [Transient] }, /^Transient\.job: its class is request-scoped or transient/);
    await refused(
      { providers: [Request, Depending] },
      /^Depending\.job: its class is request-scoped .* or depends on a request-scoped class/,
    );
  });

  it('two schedulers on one method', async () => {
    class CronAndInterval {
      @Cron(NEVER)
      @Interval(1_000_000)
      @ScheduledLock()
      job(): void {}
    }
    class IntervalAndTimeout {
      @ScheduledLock({ key: 'v1' })
      @Interval(1_000_000)
      @Timeout(1_000_000)
      job(): void {}
    }
    class AboveAndBelow {
      @Cron(NEVER)
      @ScheduledLock()
      @Cron('0 0 2 1 *')
      job(): void {}
    }
    await refused(
      { providers: [CronAndInterval] },
      /^CronAndInterval\.job: the method has two decorators of @nestjs\/schedule/,
    );
    await refused(
      { providers: [IntervalAndTimeout] },
      /^IntervalAndTimeout\.job: the method has two decorators of @nestjs\/schedule/,
    );
    await refused(
      { providers: [AboveAndBelow] },
      /^AboveAndBelow\.job: the method has two decorators of @nestjs\/schedule/,
    );
  });

  it('@Timeout without a key, and runOnInit', async () => {
    class Keyless {
      @Timeout(1_000_000)
      @ScheduledLock()
      job(): void {}
    }
    class OnInit {
      @Cron(NEVER, { runOnInit: true } as newest.CronOptions)
      @ScheduledLock()
      job(): void {}
    }
    await refused(
      { providers: [Keyless] },
      /^Keyless\.job: a job with @Timeout needs the option key, and runs once .* Add @ScheduledLock\(\{ key \}\)/,
    );
    await refused({ providers: [OnInit] }, /^OnInit\.job: runOnInit runs the job when each process starts/);
  });

  it('a name that is taken', async () => {
    class Named {
      @ScheduledLock({ name: 'Fine.job' })
      @Cron(NEVER)
      other(): void {}
    }
    await refused({ providers: [Fine, Named] }, /^Named\.other: another job has the name Fine\.job already/);
  });

  it('a method that was replaced, so that the scheduled one has no lock', async () => {
    const Logged: MethodDecorator = (_target, _key, descriptor: PropertyDescriptor) => {
      const method = descriptor.value as () => void;
      descriptor.value = function (this: object) {
        method.call(this);
      };
    };
    class Replaced {
      @Cron(NEVER)
      @Logged
      @ScheduledLock()
      job(): void {}
    }
    class Overriding extends Fine {
      @Cron(NEVER)
      override job(): void {}
    }
    await refused({ providers: [Replaced] }, /^Replaced\.job: another decorator or an override replaced/);
    await refused({ providers: [Overriding] }, /^Overriding\.job: another decorator or an override replaced/);
  });

  it('invalid options of a job, and names the job', async () => {
    class Hasty {
      @ScheduledLock({ leaseMs: 0 })
      @Cron(NEVER)
      job(): void {}
    }
    await refused({ providers: [Hasty] }, /^@ScheduledLock on Hasty\.job: leaseMs is 0/, InvalidOptionError);
  });

  it('no valid job', async () => {
    @Injectable()
    class Child extends Fine {}
    const { app } = await boot(
      { imports: [ScheduleModule.forRoot()], providers: [Child, Fine] },
      { prefix: uniquePrefix() },
    );
    expect(app.get(Child)).toBeInstanceOf(Fine);
  });
});

it('ScheduledLockModule.forRoot() twice is refused', async () => {
  @Module({ imports: [ScheduledLockModule.forRoot({ namespace: 'other' })] })
  class Second {}
  await expect(boot({ imports: [Second] }, { prefix: uniquePrefix() })).rejects.toThrow(/is imported 2 times/);
});

it('one of two @Cron directly above one another overwrites the other, which nobody can see', async () => {
  class Pair {
    @newest.Cron(NEVER, { name: 'upper' })
    @newest.Cron('0 0 2 1 *', { name: 'lower' })
    @ScheduledLock()
    job(): void {}
  }
  const { app } = await boot(
    { imports: [newest.ScheduleModule.forRoot()], providers: [Pair] },
    { prefix: uniquePrefix() },
  );
  // Nest schedules one of them, and that one is locked: no run is unlocked, and none is double.
  expect([...app.get(newest.SchedulerRegistry).getCronJobs().keys()]).toEqual(['upper']);
});

it('a provider that a factory made is locked like any other', async () => {
  let fence = 0;
  class Made {
    @ScheduledLock()
    @newest.Interval(100_000_000)
    job(): string {
      fence = 1;
      return 'done';
    }
  }
  const { app } = await boot(
    { imports: [newest.ScheduleModule.forRoot()], providers: [{ provide: Made, useFactory: () => new Made() }] },
    { prefix: uniquePrefix() },
  );
  expect(await tick(app.get(Made), 'job')).toBe('done');
  expect(await tick(app.get(Made), 'job')).toBeUndefined();
  expect(fence).toBe(1);
});
