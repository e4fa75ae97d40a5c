import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Injectable, type Type } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import {
  DelayedTask,
  DelayedTaskModule,
  DelayedTaskService,
  type DelayedTaskModuleOptions,
  type TaskContext,
} from 'luanest/delayed-task';
import { ScriptRegistryEvents } from 'luanest/script-registry';
import { isIoredis } from '../../../test/support/client-kind';
import { ClosingApps } from '../../../test/support/closing-apps';
import type { CommandWatcher } from '../../../test/support/command-watcher';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually, sleep } from '../../../test/support/wait';
import { Gate, listen } from './support';

let apps: ClosingApps;
let watcher: CommandWatcher;

beforeAll(async () => {
  apps = await ClosingApps.open();
  ({ watcher } = apps);
});
beforeEach(() => watcher.clear());
afterAll(() => apps.close());

const start = (handlers: Type, prefix: string, options: DelayedTaskModuleOptions): Promise<TestingModule> =>
  apps.start(prefix, {
    imports: [DelayedTaskModule.forRoot({ ...options })],
    providers: [handlers],
  });

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
  const settled = listen('attemptSettled');
  const failures: unknown[] = [];
  const onFailure = (event: unknown): void => void failures.push(event);
  subscribe(ScriptRegistryEvents.callFailed, onFailure);
  const prefix = uniquePrefix();
  const options = { concurrency: 2, drainMs, abortGraceMs: 20, leaseMs: 9_000 };
  const app = await start(Handlers, prefix, options);
  const tasks = app.get(DelayedTaskService);
  await tasks.scheduleMany(['a', 'b', 'c', 'd'].map((id, i) => ({ name: 'work', id, runAtMs: i + 1 })));
  await eventually(() => expect(began).toEqual(['a', 'b']));
  const closing = app.close();
  if (drainMs > 50) {
    // It waits, and the leases are renewed meanwhile.
    const leaseEnds = (): Promise<number[]> =>
      Promise.all(['a', 'b'].map(async (id) => (await tasks.get(id))?.atMs ?? 0));
    const latest = Math.max(...(await leaseEnds()));
    await eventually(async () => expect(Math.min(...(await leaseEnds()))).toBeGreaterThan(latest));
    expect((await tasks.stats()).running).toBe(2);
    gate.open();
  }
  await closing;
  expect(began).toEqual(['a', 'b']);
  expect(settled.events.map(({ id, status }) => `${id} ${status}`).sort()).toEqual(
    drainMs > 50 ? ['a done', 'b done'] : ['a released', 'b released'],
  );
  expect(reasons.map((reason) => (reason as Error).name)).toEqual(drainMs > 50 ? [] : ['ClosedError', 'ClosedError']);
  gate.open();
  const quits = (): boolean => watcher.sentBesides(prefix).some(({ args: [name] }) => /^quit$/i.test(name as string));
  await eventually(() => expect(quits()).toBe(isIoredis));
  const sent = watcher.commands.length;
  await sleep(300);
  // A handler that ended after its task was handed back settled nothing.
  expect(settled.events).toHaveLength(2);
  expect(watcher.commands.slice(sent)).toEqual([]);
  expect(failures).toEqual([]);
  unsubscribe(ScriptRegistryEvents.callFailed, onFailure);

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
  settled.stop();
  expect(apps.unhandled).toEqual([]);
});
