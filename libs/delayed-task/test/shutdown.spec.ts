import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ConsoleLogger, Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { RedisModule } from '@liaoliaots/nestjs-redis';
import {
  DelayedTask,
  DelayedTaskModule,
  DelayedTaskService,
  type DelayedTaskModuleOptions,
  type TaskContext,
} from 'luanest/delayed-task';
import { SCRIPT_REGISTRY_CHANNELS, ScriptRegistryModule } from 'luanest/script-registry';
import { CommandWatcher } from '../../../test/support/command-watcher';
import { RedisServer } from '../../../test/support/redis-server';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually, sleep } from '../../../test/support/wait';
import { Gate, listen, quiet, type TaskSettledEvent } from './support';

let server: RedisServer;
let watcher: CommandWatcher;
const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown): void => void unhandled.push(reason);

beforeAll(async () => {
  server = await RedisServer.start();
  watcher = await CommandWatcher.open(server.port);
  process.on('unhandledRejection', onUnhandled);
});
beforeEach(() => watcher.clear());
afterAll(async () => {
  process.off('unhandledRejection', onUnhandled);
  watcher.close();
  await server.stop();
});

/** An app as users have it: its Redis client belongs to RedisModule, which quits it at shutdown. */
async function start(
  handlers: new (...args: never[]) => unknown,
  prefix: string,
  options: DelayedTaskModuleOptions,
): Promise<TestingModule> {
  const app = await Test.createTestingModule({
    imports: [
      RedisModule.forRoot({ config: { url: server.url, onClientCreated: quiet }, closeClient: true }, true),
      ScriptRegistryModule.forRoot({ prefix }),
      DelayedTaskModule.forRoot({ pollMs: 100, ...options }),
    ],
    providers: [handlers],
  })
    .setLogger(new ConsoleLogger({ logLevels: [] }))
    .compile();
  await app.init();
  return app;
}

it.each([
  ['awaits what ends in time, which may schedule more', 30_000],
  ['aborts and hands back what does not', 50],
])('app.close() %s; nothing is sent afterwards', async (_title, drainMs) => {
  const gate = new Gate();
  const began: string[] = [];
  const reasons: unknown[] = [];
  @Injectable()
  class Handlers {
    constructor(private readonly tasks: DelayedTaskService) {}
    @DelayedTask('work')
    async work(_payload: unknown, { id, signal }: TaskContext): Promise<void> {
      began.push(id);
      signal.addEventListener('abort', () => reasons.push(signal.reason));
      await gate.pass();
      if (drainMs > 50) await this.tasks.schedule('work', null, { id: `${id}-next` });
    }
  }
  const told = listen<TaskSettledEvent>('settled');
  const failures: unknown[] = [];
  const onFailure = (event: unknown): void => void failures.push(event);
  subscribe(SCRIPT_REGISTRY_CHANNELS.callFailed, onFailure);
  const prefix = uniquePrefix();
  const options = { concurrency: 2, drainMs, abortGraceMs: 20, leaseMs: 600 };
  const app = await start(Handlers, prefix, options);
  const tasks = app.get(DelayedTaskService);
  await tasks.scheduleMany(['a', 'b', 'c', 'd'].map((id, i) => ({ name: 'work', id, runAt: i + 1 })));
  await eventually(() => expect(began).toEqual(['a', 'b']));
  const closing = app.close();
  if (drainMs > 50) {
    // It waits, and the leases are renewed meanwhile.
    await sleep(1_000);
    expect((await tasks.stats()).running).toBe(2);
    gate.open();
  }
  await closing;
  expect(began).toEqual(['a', 'b']);
  expect(told.events.map(({ id, outcome }) => `${id} ${outcome}`).sort()).toEqual(
    drainMs > 50 ? ['a done', 'b done'] : ['a released', 'b released'],
  );
  expect(reasons.map((reason) => (reason as Error).name)).toEqual(
    drainMs > 50 ? [] : ['WorkerClosingError', 'WorkerClosingError'],
  );
  gate.open();
  await eventually(() =>
    expect(watcher.sentBesides(prefix).some(({ args: [name] }) => /^quit$/i.test(name as string))).toBe(true),
  );
  const sent = watcher.commands.length;
  await sleep(300);
  expect(watcher.commands.slice(sent)).toEqual([]);
  expect(failures).toEqual([]);
  unsubscribe(SCRIPT_REGISTRY_CHANNELS.callFailed, onFailure);

  // Another app finds all of it at once, with no attempt lost.
  const seen: [string, number][] = [];
  @Injectable()
  class Others {
    @DelayedTask('work')
    work(_payload: unknown, { id, attempt }: TaskContext): void {
      seen.push([id, attempt]);
    }
  }
  const other = await start(Others, prefix, options);
  const left = drainMs > 50 ? ['a-next', 'b-next', 'c', 'd'] : ['a', 'b', 'c', 'd'];
  await eventually(() => expect(seen.sort()).toEqual(left.map((id) => [id, 1])));
  await other.close();
  told.stop();
  expect(unhandled).toEqual([]);
});

it('a take that was out when the app closed hands its tasks back', async () => {
  const prefix = uniquePrefix();
  const began: string[] = [];
  @Injectable()
  class Handlers {
    @DelayedTask('work')
    work(_payload: unknown, { id }: TaskContext): void {
      began.push(id);
    }
  }
  const app = await start(Handlers, prefix, {});
  const tasks = app.get(DelayedTaskService);
  for (let i = 0; i < 20; i++) await tasks.schedule('work', null, { id: `w${i}`, delayMs: i });
  await app.close();
  const other = await start(Handlers, prefix, {});
  await eventually(() => expect(new Set(began).size).toBe(20));
  await eventually(async () => expect((await other.get(DelayedTaskService).stats()).waiting).toBe(0));
  // Each once: what was taken had begun, or was handed back.
  expect(began).toHaveLength(20);
  await other.close();
});
