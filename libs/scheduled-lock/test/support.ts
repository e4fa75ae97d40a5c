import { type ChildProcess, fork } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ConsoleLogger, type LoggerService, type ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import type { Cluster, Redis } from 'ioredis';
import { ScheduledLockEvents, ScheduledLockModule, type ScheduledLockModuleOptions } from 'luanest/scheduled-lock';
import { ScriptRegistryModule, type ScriptRegistryModuleOptions } from 'luanest/script-registry';
import { sharedRedisUrl } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { FIXED } from '../src/scheduled-lock.options';

const DIST = join(__dirname, '..', '..', '..', 'dist', 'libs', 'scheduled-lock');

/** A process of the tests' own, of the built package. It dies with the test, by `Child.killAll`. */
export class Child {
  private static readonly all = new Set<Child>();
  output = '';
  readonly messages: unknown[] = [];
  private constructor(readonly process: ChildProcess) {
    for (const stream of [process.stdout, process.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
    process.on('message', (message) => this.messages.push(message));
    Child.all.add(this);
  }

  /** @param file in `processes/` */
  static start(file: string, env: Record<string, string>): Child {
    if (!existsSync(DIST)) throw new Error('These tests start real processes, run "npm run build" first.');
    const all = { ...process.env, REDIS_URL: sharedRedisUrl(), ...env };
    return new Child(fork(join(__dirname, 'processes', file), { env: all, silent: true, execArgv: [] }));
  }

  static killAll(): void {
    for (const { process } of Child.all) process.kill('SIGKILL');
    Child.all.clear();
  }

  async prints(pattern: RegExp): Promise<RegExpExecArray> {
    return eventually(() => pattern.exec(this.output) ?? Promise.reject(new Error(`not printed: ${this.output}`)), {
      timeoutMs: 30_000,
    });
  }
}

export interface Booted {
  readonly app: TestingModule;
  readonly client: Redis | Cluster;
  readonly close: () => Promise<void>;
}

export interface BootOptions {
  readonly prefix: string;
  readonly lock?: LockParts;
  readonly client?: Redis | Cluster;
  readonly registry?: ScriptRegistryModuleOptions;
  /** Default: one that says nothing. */
  readonly logger?: LoggerService;
}

/** Collects what is logged, as `<level> <message>`. */
export class Lines implements LoggerService {
  private readonly lines: { readonly text: string; readonly context: unknown }[] = [];
  log = (...all: unknown[]): void => this.note('log', all);
  error = (...all: unknown[]): void => this.note('error', all);
  warn = (...all: unknown[]): void => this.note('warn', all);

  /** The lines of this lib, in their order. */
  get ours(): string[] {
    return this.lines.filter(({ context }) => context === 'ScheduledLock').map(({ text }) => text);
  }

  clear(): void {
    this.lines.length = 0;
  }

  private note(level: string, all: readonly unknown[]): void {
    this.lines.push({ text: `${level} ${String(all[0])}`, context: all.at(-1) });
  }
}

/** Options of the module, and what only tests set. */
export interface LockParts extends Partial<ScheduledLockModuleOptions> {
  /** Default: so long that a busy machine makes no call fail. */
  readonly deadlineMs?: number;
  readonly historySize?: number;
  /** Default: `LATER` is not stale. */
  readonly staleAfterMs?: number;
}

/** Resolves options of the module with other fixed values. */
export async function withFixed<T>(
  { deadlineMs, historySize, staleAfterMs = STALE_NEVER, ...options }: LockParts,
  use: (options: Partial<ScheduledLockModuleOptions>) => Promise<T>,
): Promise<T> {
  const before = { ...FIXED };
  Object.assign(FIXED, {
    staleAfterMs,
    deadlineMs: deadlineMs ?? 15_000,
    historySize: historySize ?? before.historySize,
  });
  try {
    return await use(options);
  } finally {
    Object.assign(FIXED, before);
  }
}

const open = new Set<Booted>();

/** A module with the lib in it, not initialised, and its client. */
export async function compile(
  metadata: ModuleMetadata,
  {
    prefix,
    lock = {},
    client = standaloneClient(),
    registry = {},
    logger = new ConsoleLogger({ logLevels: [] }),
  }: BootOptions,
): Promise<{ app: TestingModule; client: Redis | Cluster }> {
  const imports = [ScriptRegistryModule.forRoot({ client, prefix, ...registry }), ...(metadata.imports ?? [])];
  try {
    const app = await withFixed(lock, (options) =>
      Test.createTestingModule({
        ...metadata,
        imports: [ScheduledLockModule.forRoot({ namespace: 'default', ...options }), ...imports],
      })
        .setLogger(logger)
        .compile(),
    );
    return { app, client };
  } catch (error) {
    client.disconnect();
    throw error;
  }
}

/** An app, initialised, and closed by `closeAll`. */
export async function boot(metadata: ModuleMetadata, options: BootOptions): Promise<Booted> {
  const { app, client } = await compile(metadata, options);
  const booted: Booted = {
    app,
    client,
    async close() {
      if (!open.delete(booted)) return;
      await app.close();
      client.disconnect();
    },
  };
  try {
    await app.init();
  } catch (error) {
    await app.close();
    client.disconnect();
    throw error;
  }
  open.add(booted);
  return booted;
}

export async function closeAll(): Promise<void> {
  await Promise.all([...open].map((booted) => booted.close()));
}

/** Collects the outcomes that this process publishes, in order, until `stop`. */
export function listen(): {
  readonly events: ScheduledLockEvents['tickEnded'][];
  of(name: string): string[];
  stop(): void;
} {
  const events: ScheduledLockEvents['tickEnded'][] = [];
  const listener = (event: unknown): void => void events.push(event as ScheduledLockEvents['tickEnded']);
  subscribe(ScheduledLockEvents.tickEnded, listener);
  return {
    events,
    of: (name) => events.filter((event) => event.name === name).map(({ status }) => status),
    stop: () => unsubscribe(ScheduledLockEvents.tickEnded, listener),
  };
}

/** Resolves when a signal has fired, also where that was before. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
}

/** An instant that does not come while a test runs, so that `@Cron` of it fires never, and each direct call is a tick of it. */
export const LATER = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 3_600_000);
/** As `staleAfterMs`: `LATER` is not stale. The default of these tests. */
export const STALE_NEVER = 7_200_000;

/**
 * Calls a job as a scheduler does, which has taken the method from the class when the app was initialised. Whatever it is
 * declared to return, the decorated one returns a promise.
 */
export async function tick<T extends object>(jobs: T, method: keyof T, ...args: unknown[]): Promise<unknown> {
  const prototype = Object.getPrototypeOf(jobs) as T;
  return await (prototype[method] as (...args: unknown[]) => Promise<unknown>).apply(jobs, args);
}
