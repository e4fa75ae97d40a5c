import {
  Catch,
  ConsoleLogger,
  ForbiddenException,
  Injectable,
  ParseIntPipe,
  Scope,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type LoggerService,
  type ModuleMetadata,
  type NestInterceptor,
} from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { catchError, map, of, tap, type Observable } from 'rxjs';
import {
  deadLetter,
  DelayedTask,
  DelayedTaskModule,
  DelayedTaskService,
  retryLater,
  type DelayedTaskModuleOptions,
  type TaskContext,
} from 'luanest/delayed-task';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { listen } from './support';

const open = new Set<() => Promise<void>>();

async function boot(
  metadata: ModuleMetadata,
  options: DelayedTaskModuleOptions = {},
  prefix = uniquePrefix(),
  logger: LoggerService = new ConsoleLogger({ logLevels: [] }),
): Promise<TestingModule> {
  const client = standaloneClient();
  let app: TestingModule | undefined;
  const close = async (): Promise<void> => {
    await app?.close();
    client.disconnect();
  };
  try {
    app = await Test.createTestingModule({
      ...metadata,
      imports: [
        ScriptRegistryModule.forRoot({ client, prefix }),
        DelayedTaskModule.forRoot({ backoff: { delayMs: 10 }, attempts: 2, ...options }),
        ...(metadata.imports ?? []),
      ],
    })
      .setLogger(logger)
      .compile();
    await app.init();
  } catch (error) {
    await close();
    throw error;
  }
  open.add(close);
  return app;
}

afterEach(async () => {
  for (const close of open) await close();
  open.clear();
});

const refusal = (says: RegExp): object => ({
  code: 'SETUP',
  message: expect.stringMatching(says) as string,
});

describe('boot refuses', () => {
  it('a handler without the module', async () => {
    @Injectable()
    class Alone {
      @DelayedTask('alone')
      run(): void {
        /* nothing */
      }
    }
    const app = Test.createTestingModule({ providers: [Alone] }).setLogger(new ConsoleLogger({ logLevels: [] }));
    await expect(app.compile()).rejects.toThrow(/@DelayedTask on Alone\.run needs DelayedTaskModule\.forRoot\(\)/);
  });

  it('two handlers of one name', async () => {
    @Injectable()
    class One {
      @DelayedTask('same')
      run(): void {
        /* nothing */
      }
    }
    @Injectable()
    class Two {
      @DelayedTask('same')
      run(): void {
        /* nothing */
      }
    }
    await expect(boot({ providers: [One, Two] })).rejects.toMatchObject(
      refusal(/^Two\.run: Task "same" has two handlers/),
    );
  });

  it('request-scoped and transient handlers', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped {
      @DelayedTask('scoped')
      run(): void {
        /* nothing */
      }
    }
    await expect(boot({ providers: [Scoped] })).rejects.toMatchObject(refusal(/^Scoped\.run: .*singleton/));
  });

  it('two modules', async () => {
    const imports = [DelayedTaskModule.forRoot({ namespace: 'other' })];
    await expect(boot({ imports })).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });

  it('another number of partitions than the queue has', async () => {
    const prefix = uniquePrefix();
    const app = await boot({}, { partitions: 3 }, prefix);
    await app.get(DelayedTaskService).schedule('t', null, { delayMs: 60_000 });
    await expect(boot({}, { partitions: 4 }, prefix)).rejects.toMatchObject(
      refusal(/partitions is 4, but queue \S+ was created with 3 partitions/),
    );
    await boot({}, { partitions: 3 }, prefix);
  });

  it.each<[keyof DelayedTaskModuleOptions | 'no-such', unknown, RegExp]>([
    ['namespace', 'a{b}', /namespace is "a\{b\}"/],
    ['partitions', 0, /^DelayedTaskModule: partitions is 0\. Expected an integer from 1 to 256/],
    ['concurrency', 1.5, /concurrency is 1\.5/],
    ['leaseMs', 99, /leaseMs is 99/],
    ['leaseMs', NaN, /leaseMs is NaN/],
    ['attempts', '5', /attempts is "5"/],
    ['backoff', '1s', /backoff is "1s"/],
    ['backoff', { delayMs: 10, factor: 0.5 }, /backoff\.factor is 0\.5/],
    ['backoff', { delayMs: 10, maxDelayMs: 5 }, /backoff\.maxDelayMs is 5/],
    ['timeoutMs', 2 ** 31, /timeoutMs is 2147483648/],
    ['maxPayloadBytes', 0, /maxPayloadBytes is 0/],
    ['no-such', 1, /There is no option "no-such"/],
  ])('%s = %p', async (option, value, says) => {
    const problem = boot({}, { [option]: value });
    await expect(problem).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(says) as string,
    });
  });
});

it('finds a handler once behind an alias, in a base class, and for two names', async () => {
  const seen: string[] = [];
  class Base {
    @DelayedTask('one')
    @DelayedTask('two')
    run(_payload: unknown, { name }: TaskContext): void {
      seen.push(name);
    }
  }
  @Injectable()
  class Derived extends Base {}
  const app = await boot({ providers: [Derived, { provide: 'alias', useExisting: Derived }] });
  await app.get(DelayedTaskService).scheduleMany([{ name: 'one' }, { name: 'two' }]);
  await eventually(() => expect(seen.sort()).toEqual(['one', 'two']));
});

it('forRootAsync takes the same options, and a registry by its name', async () => {
  const client = standaloneClient();
  const done: unknown[] = [];
  @Injectable()
  class Handlers {
    @DelayedTask('named')
    run(payload: unknown): void {
      done.push(payload);
    }
  }
  const app = await Test.createTestingModule({
    imports: [
      ScriptRegistryModule.forRoot({ name: 'second', client, prefix: uniquePrefix() }),
      DelayedTaskModule.forRootAsync({ registry: 'second', useFactory: () => ({ namespace: 'q', partitions: 2 }) }),
    ],
    providers: [Handlers],
  })
    .setLogger(new ConsoleLogger({ logLevels: [] }))
    .compile();
  open.add(async () => {
    await app.close();
    client.disconnect();
  });
  await app.init();
  await app.get(DelayedTaskService).schedule('named', 1);
  await eventually(() => expect(done).toEqual([1]));
});

it('an app without handlers runs no tasks, unless `work` is true', async () => {
  const prefix = uniquePrefix();
  const idle = await boot({}, {}, prefix);
  const tasks = idle.get(DelayedTaskService);
  await tasks.schedule('nobody', null, { id: 'a', attempts: 1 });
  expect(await tasks.stats()).toMatchObject({ waiting: 1, dead: 0 });
  const settled = listen('attemptSettled');
  await boot({}, { work: true }, prefix);
  await eventually(() => expect(settled.events[0]).toMatchObject({ id: 'a', status: 'unknown' }));
  settled.stop();
});

it('guards, pipes, interceptors and filters run, and the value of a filter does not make the attempt a success', async () => {
  const seen: string[] = [];
  @Injectable()
  class Watch implements NestInterceptor {
    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
      const [payload, task] = context.getArgs<[unknown, TaskContext]>();
      seen.push(`${context.getType<string>()} ${context.getClass().name}.${context.getHandler().name} ${task.name}`);
      expect(payload).toBe('42');
      return next.handle().pipe(tap((value) => seen.push(`answer ${String(value)}`)));
    }
  }
  @Injectable()
  class Bouncer implements CanActivate {
    canActivate(context: ExecutionContext): boolean {
      return context.getHandler().name !== 'denied';
    }
  }
  @Catch()
  class Net implements ExceptionFilter {
    catch(error: Error, host: ArgumentsHost): string {
      seen.push(`filter ${host.getType<string>()} ${error.message}`);
      return 'caught';
    }
  }
  @Injectable()
  @UseGuards(Bouncer)
  class Handlers {
    @UseInterceptors(Watch)
    @UsePipes(ParseIntPipe)
    @DelayedTask('with')
    with(payload: number, { attempt }: TaskContext): string {
      return `${typeof payload} ${payload} ${attempt}`;
    }
    @DelayedTask('denied')
    @UseFilters(Net)
    denied(): void {
      seen.push('not denied');
    }
    @DelayedTask('broken')
    @UseFilters(Net)
    broken(): void {
      throw new Error('torn');
    }
    @UsePipes(ParseIntPipe)
    @DelayedTask('unpiped')
    unpiped(): void {
      seen.push('not piped');
    }
  }
  const app = await boot({ providers: [Handlers] });
  const tasks = app.get(DelayedTaskService);
  const keep = { keepResultMs: 60_000 };
  await tasks.schedule('with', '42', { id: 'with', ...keep });
  await eventually(async () => expect((await tasks.get('with'))?.result).toBe('number 42 1'));
  expect(seen.splice(0)).toEqual(['delayed-task Handlers.with with', 'answer number 42 1']);
  await tasks.scheduleMany(['denied', 'broken', 'unpiped'].map((name) => ({ name, id: name, payload: 'x' })));
  await eventually(async () => expect((await tasks.stats()).dead).toBe(3));
  const { items: dead } = await tasks.deadLetters();
  const errors = Object.fromEntries(dead.map(({ id, error }) => [id, error]));
  expect(errors['broken']).toBe('Error: torn');
  expect(errors['denied']).toContain(new ForbiddenException('Forbidden resource').message);
  expect(errors['unpiped']).toMatch(/numeric string/);
  expect(seen.filter((line) => line === 'filter delayed-task torn')).toHaveLength(2);
  expect(seen).not.toContain('not denied');
  expect(seen).not.toContain('not piped');
});

it('the result after the interceptors counts, but they cannot hide an outcome by wrapping it', async () => {
  @Injectable()
  class Wrap implements NestInterceptor {
    intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
      return next.handle().pipe(map((data: unknown) => ({ data })));
    }
  }
  @Injectable()
  class Catches implements NestInterceptor {
    intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
      return next.handle().pipe(catchError(() => of('caught')));
    }
  }
  @Injectable()
  class Handlers {
    @UseInterceptors(Wrap)
    @DelayedTask('wrapped')
    wrapped(): unknown {
      return deadLetter('not wanted');
    }
    @UseInterceptors(Wrap)
    @DelayedTask('observed')
    observed(): unknown {
      return of('first', deadLetter('not wanted'));
    }
    @UseInterceptors(Catches)
    @DelayedTask('caught')
    caught(): void {
      throw new Error('broken');
    }
  }
  const app = await boot({ providers: [Handlers] });
  const tasks = app.get(DelayedTaskService);
  const names = ['wrapped', 'observed', 'caught'];
  await tasks.scheduleMany(names.map((name) => ({ name, id: name, keepResultMs: 60_000 })));
  await eventually(async () => expect((await tasks.get('caught'))?.result).toBe('caught'));
  await eventually(async () => expect(await tasks.stats()).toMatchObject({ waiting: 0, running: 0 }));
  const { items: dead } = await tasks.deadLetters();
  expect(dead.map(({ id, error }) => [id, error]).sort()).toEqual([
    ['observed', 'not wanted'],
    ['wrapped', 'not wanted'],
  ]);
});

it('a failed attempt is one log line without the error text; Nest does not log retryLater() and deadLetter() as errors', async () => {
  const lines: string[] = [];
  const note =
    (level: string) =>
    (...all: unknown[]): void =>
      void lines.push(`${level} ${all.filter(Boolean).map(String).join(' ')}`);
  const logger = { log: () => undefined, error: note('error'), warn: note('warn'), debug: note('debug') };
  const filtered: string[] = [];
  @Catch()
  class Net implements ExceptionFilter {
    catch(error: Error): void {
      filtered.push(error.name);
    }
  }
  @Injectable()
  class Handlers {
    @DelayedTask('later')
    later(_payload: unknown, { attempt }: TaskContext): void {
      // eslint-disable-next-line @typescript-eslint/only-throw-error
      throw attempt === 1 ? retryLater({ delayMs: 1 }) : deadLetter('secret-2');
    }
    @DelayedTask('returns')
    returns(): unknown {
      return deadLetter('secret-3');
    }
    @UseFilters(Net)
    @DelayedTask('broken')
    broken(): void {
      throw new TypeError('secret-4');
    }
  }
  const app = await boot({ providers: [Handlers] }, {}, uniquePrefix(), logger);
  const tasks = app.get(DelayedTaskService);
  await tasks.scheduleMany(['later', 'returns', 'broken'].map((name) => ({ name, id: `id-${name}` })));
  await eventually(async () => expect((await tasks.stats()).dead).toBe(3));
  const nests = (line: string): boolean => line.endsWith('ExceptionsHandler');
  await eventually(() => expect(lines.filter((line) => !nests(line))).toHaveLength(4));
  // What Nest logs of an error is the error, with its text.
  expect(lines.filter(nests).filter((line) => !line.includes('secret-4'))).toEqual([]);
  const ours = lines.filter((line) => !nests(line)).map((line) => line.replace(/ in \d+ ms/, ''));
  expect(ours.sort()).toEqual([
    'error Queue default: task "broken" (id "id-broken") is a dead letter after attempt 2 of 2: TypeError. It runs again only if you replay the dead letter. DelayedTask',
    'error Queue default: task "later" (id "id-later") is a dead letter after attempt 2 of 2: the handler gave up with deadLetter(). It runs again only if you replay the dead letter. DelayedTask',
    'error Queue default: task "returns" (id "id-returns") is a dead letter after attempt 1 of 2: the handler gave up with deadLetter(). It runs again only if you replay the dead letter. DelayedTask',
    'warn Queue default: task "broken" (id "id-broken") failed at attempt 1 of 2: TypeError. The next attempt is due. DelayedTask',
  ]);
  expect(filtered).toEqual(['TypeError', 'TypeError']);
});

it('log lines are one line, and do not show a value that a handler throws', async () => {
  const lines: string[] = [];
  const note = (...all: unknown[]): void => void lines.push(String(all[0]));
  const logger = { log: () => undefined, error: note, warn: note, debug: note };
  const app = await boot({}, { attempts: 1 }, uniquePrefix(), logger);
  // The boot warns of the handlers of this file, whose classes are not in this app.
  lines.length = 0;
  const tasks = app.get(DelayedTaskService);
  tasks.handle('text\u2028\u0085', () => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error
    throw 'secret-1\nforged line';
  });
  tasks.handle('class', () => {
    throw Object.assign(new TypeError('secret-2'), { constructor: { name: 'secret-3' } });
  });
  const names = ['text\u2028\u0085', 'class'];
  await tasks.scheduleMany(names.map((name, i) => ({ name, id: `id\u2028\u0085${i}` })));
  await eventually(() => expect(lines).toHaveLength(2));
  expect(lines.sort()).toEqual([
    'Queue default: task "class" (id "id 1") is a dead letter after attempt 1 of 1: TypeError. It runs again only if you replay the dead letter.',
    'Queue default: task "text " (id "id 0") is a dead letter after attempt 1 of 1: a thrown string. It runs again only if you replay the dead letter.',
  ]);
});
