import {
  ConsoleLogger,
  Controller,
  Get,
  Injectable,
  Module,
  Scope,
  UseInterceptors,
  type ModuleMetadata,
} from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import * as newest from '@nestjs/schedule';
import * as oldest from 'schedule-oldest';
import { ScriptRegistryModule } from 'luanest/script-registry';
import {
  ScheduledLock,
  ScheduledLockInterceptor,
  ScheduledLockModule,
  ScheduledLockService,
} from 'luanest/scheduled-lock';
import type { Redis } from 'ioredis';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';

type Schedule = Pick<typeof newest, 'Cron' | 'Interval' | 'Timeout' | 'ScheduleModule'>;
const versions: [string, Schedule][] = [
  ['newest', newest],
  ['oldest', oldest as unknown as Schedule],
];

const open: { app: TestingModule; client: Redis }[] = [];
afterEach(async () => {
  for (const { app, client } of open.splice(0)) {
    await app.close();
    client.disconnect();
  }
});

async function boot(prefix: string, metadata: ModuleMetadata, lock = {}): Promise<TestingModule> {
  const client = standaloneClient();
  const root = { ...metadata };
  root.imports = [
    ScriptRegistryModule.forRoot({ client, prefix }),
    ScheduledLockModule.forRoot(lock),
    ...(metadata.imports ?? []),
  ];
  try {
    const app = await Test.createTestingModule(root)
      .setLogger(new ConsoleLogger({ logLevels: [] }))
      .compile();
    await app.init();
    open.push({ app, client });
    return app;
  } catch (error) {
    client.disconnect();
    throw error;
  }
}

describe.each(versions)('on the %s @nestjs/schedule', (_, { Cron, Interval, Timeout, ScheduleModule }) => {
  it('runs once a slot on all nodes, with the lock above or below the scheduler', async () => {
    const slots: Record<string, number[]> = { above: [], below: [], every: [], boot: [] };
    @Injectable()
    class Jobs {
      constructor(private readonly locks: ScheduledLockService) {}
      private note(name: string): void {
        this.locks.current()?.assertHeld();
        slots[name]?.push(this.locks.current()?.slot ?? -1);
      }
      @ScheduledLock()
      @Cron('* * * * * *')
      above(): void {
        this.note('above');
      }
      @Cron('* * * * * *')
      @ScheduledLock()
      below(): void {
        this.note('below');
      }
      @ScheduledLock()
      @Interval(200)
      every(): void {
        this.note('every');
      }
      @Timeout(10)
      @ScheduledLock({ key: 'v1' })
      boot(): void {
        this.note('boot');
      }
    }
    const prefix = uniquePrefix();
    const apps = await Promise.all(
      [1, 2, 3].map(() => boot(prefix, { imports: [ScheduleModule.forRoot()], providers: [Jobs] })),
    );
    await eventually(() => expect(Math.min(slots.above?.length ?? 0, slots.below?.length ?? 0)).toBeGreaterThan(2));
    for (const name of ['above', 'below', 'every', 'boot']) {
      const seen = slots[name] as number[];
      expect([...new Set(seen)]).toEqual(seen);
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
    }
    expect(slots.boot).toEqual([1]);
    for (const name of ['above', 'below']) {
      const seen = slots[name] as number[];
      seen.forEach((slot, i) => expect(slot).toBe((seen[0] as number) + i * 1_000));
    }
    const history = await (apps[0] as TestingModule).get(ScheduledLockService).history('Jobs.above');
    expect(new Set(history.map(({ outcome }) => outcome))).toEqual(new Set(['ran', 'skipped-slot']));
  });

  describe('refuses at boot', () => {
    const refused = (metadata: ModuleMetadata, message: RegExp): Promise<void> =>
      expect(boot(uniquePrefix(), { imports: [ScheduleModule.forRoot()], ...metadata })).rejects.toThrow(message);

    class Fine {
      @ScheduledLock()
      @Cron('0 0 1 1 *')
      job(): void {}
    }
    class Unscheduled {
      @ScheduledLock()
      job(): void {}
    }
    class Twice {
      @Cron('0 0 1 1 *')
      @Interval(100_000)
      @ScheduledLock()
      job(): void {}
    }
    class AboveAndBelow {
      @Cron('0 0 1 1 *')
      @ScheduledLock()
      @Cron('0 0 2 1 *')
      job(): void {}
    }
    class Intercepted {
      @UseInterceptors(ScheduledLockInterceptor)
      @Cron('0 0 1 1 *')
      job(): void {}
    }
    class Keyless {
      @Timeout(1_000)
      @ScheduledLock()
      job(): void {}
    }
    class Named {
      @ScheduledLock({ name: 'Fine.job' })
      @Cron('0 0 1 1 *')
      other(): void {}
    }
    class Handler {
      job(): void {}
    }
    Injectable({ scope: Scope.REQUEST })(class {});

    it('what would never run, run unlocked or run twice', async () => {
      await refused({ providers: [Unscheduled] }, /Unscheduled\.job: it has @ScheduledLock\(\) and no @Cron/);
      await refused({ providers: [Fine], imports: [] }, /Fine\.job: it is not scheduled/);
      await refused({ providers: [Twice] }, /Twice\.job: it has two schedulers/);
      await refused({ providers: [AboveAndBelow] }, /AboveAndBelow\.job: it has two schedulers/);
      await refused({ providers: [Intercepted] }, /Intercepted\.job: Nest runs no interceptors/);
      await refused({ providers: [Keyless] }, /Keyless\.job: @Timeout has no slots/);
      await refused({ providers: [Fine, Named] }, /Named\.other: another job is named Fine\.job/);
      await refused(
        { providers: [Fine, { provide: 'alias', useExisting: Fine }] },
        /Fine\.job: its class is provided twice/,
      );
      void Handler;
    });

    it('request-scoped providers', async () => {
      @Injectable({ scope: Scope.REQUEST })
      class PerRequest {
        @ScheduledLock()
        @Cron('0 0 1 1 *')
        job(): void {}
      }
      await refused({ providers: [PerRequest] }, /PerRequest\.job: it is request-scoped/);
    });

    it('two ScheduleModule.forRoot()', async () => {
      @Module({ imports: [ScheduleModule.forRoot({ cronJobs: true, intervals: false })] })
      class Second {}
      await refused({ providers: [Fine], imports: [ScheduleModule.forRoot(), Second] }, /imported 2 times/);
    });

    it('a missing ScheduledLockModule', async () => {
      const app = Test.createTestingModule({ imports: [ScheduleModule.forRoot()], providers: [Fine] }).setLogger(
        new ConsoleLogger({ logLevels: [] }),
      );
      await expect(app.compile()).rejects.toThrow(/@ScheduledLock on Fine\.job needs ScheduledLockModule\.forRoot\(\)/);
    });
  });
});

describe('shutdown', () => {
  it('awaits a running job, and aborts one that takes too long', async () => {
    for (const [drainMs, expected] of [
      [5_000, 'done'],
      [20, 'aborted'],
    ] as const) {
      let outcome = '';
      let started = false;
      @Injectable()
      class Jobs {
        constructor(private readonly locks: ScheduledLockService) {}
        @ScheduledLock()
        @newest.Interval(20)
        async job(): Promise<void> {
          started = true;
          const signal = this.locks.current()?.signal;
          await new Promise<void>((resolve) => {
            const timer = setTimeout(resolve, expected === 'done' ? 200 : 3_000);
            signal?.addEventListener('abort', () => {
              clearTimeout(timer);
              outcome = 'aborted';
              resolve();
            });
          });
          outcome ||= 'done';
        }
      }
      await boot(uniquePrefix(), { imports: [newest.ScheduleModule.forRoot()], providers: [Jobs] }, { drainMs });
      await eventually(() => expect(started).toBe(true));
      const { app, client } = open.pop() as (typeof open)[number];
      await app.close();
      client.disconnect();
      expect(outcome).toBe(expected);
    }
  });
});

describe('the interceptor', () => {
  it('is needed on handlers that carry the decorator', async () => {
    @Controller()
    class Unlocked {
      @Get()
      @ScheduledLock()
      go(): void {}
    }
    await expect(boot(uniquePrefix(), { controllers: [Unlocked] })).rejects.toThrow(/Unlocked\.go: it is a handler/);
  });
});
