import { type DynamicModule, type ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { metrics, trace } from '@opentelemetry/api';
import { ConsoleModule, type ConsoleModuleOptions } from 'luanest/console';
import { DelayedTaskModule, DelayedTaskService, type DelayedTaskModuleOptions } from 'luanest/delayed-task';
import { LockModule, type LockModuleOptions } from 'luanest/lock';
import { MetricsModule, type MetricsModuleOptions } from 'luanest/metrics';
import { type IdempotencyRouteOptions, OnceModule, type OnceModuleOptions } from 'luanest/once';
import { OutboxModule, type OutboxModuleOptions } from 'luanest/outbox';
import { RateLimitModule, type RateLimitModuleOptions } from 'luanest/rate-limit';
import { RateLimitThrottlerStorageModule } from 'luanest/rate-limit/throttler-storage';
import type { RateLimitThrottlerStorageModuleOptions } from '../../libs/rate-limit/src/throttler-storage/throttler-storage.options';
import { ReadRewardModule, type ReadRewardModuleOptions, type RewardRule } from 'luanest/read-reward';
import { RedPacketModule, type RedPacketModuleOptions } from 'luanest/red-packet';
import { ScheduledLockModule, type ScheduledLockModuleOptions } from 'luanest/scheduled-lock';
import { ScriptRegistryModule, type ScriptRegistryModuleOptions } from 'luanest/script-registry';
import { StreamConsumerModule, type StreamConsumerModuleOptions } from 'luanest/stream-consumer';
import { standaloneClient } from '../../libs/script-registry/test/support';
import { uniquePrefix } from './shared-servers';

/** Functions of a module that users call. */
export interface Configurable {
  readonly name: string;
  forRoot(options?: unknown): DynamicModule;
  forRootAsync(options: object): DynamicModule;
}

export interface Lib {
  readonly name: string;
  readonly module: unknown;
  /** Settings of `forRootAsync` that are given next to `useFactory`. */
  readonly extras?: object;
  /** Every option of the module. */
  readonly every: object;
  /** Makes the other modules that this module needs. */
  readonly beside?: () => DynamicModule[];
  /** Options that have no default. */
  readonly needed?: object;
  /** Options that are refused, each with a part of the error. */
  readonly nested: readonly (readonly [options: object, message: string | RegExp])[];
}

/** A database whose transactions never begin. */
const noDatabase = { transaction: <T>(): Promise<T> => Promise.reject(new Error('no database')) };

const open = new Set<() => Promise<void> | void>();

/** Client of all apps that are open. */
let client: ReturnType<typeof standaloneClient> | undefined;

/** Starts an app on the shared Redis. `closeAll` closes it. */
export async function boot(metadata: ModuleMetadata, withRegistry = true): Promise<TestingModule> {
  // Each app adds listeners to it, and one whose boot fails removes none.
  client ??= standaloneClient().setMaxListeners(0);
  const registry = { client, prefix: uniquePrefix() };
  const imports = withRegistry
    ? [ScriptRegistryModule.forRoot(registry), ScriptRegistryModule.forRoot({ ...registry, name: 'other' })]
    : [];
  const apps: TestingModule[] = [];
  open.add(async () => void (await Promise.all(apps.map((app) => app.close()))));
  const app = await Test.createTestingModule({ ...metadata, imports: [...imports, ...(metadata.imports ?? [])] })
    .setLogger(false as never)
    .compile();
  apps.push(app);
  return app.init();
}

/** Closes all apps of `boot`, and what their options opened. */
export async function closeAll(): Promise<void> {
  await Promise.all([...open].map(async (close) => close()));
  open.clear();
  client?.disconnect();
  client = undefined;
}

export const resolver = (): string => 'u';
export const route = {
  required: true,
  leaseMs: 30_000,
  retentionMs: 60_000,
  delivery: 'at-least-once',
  storeErrors: true,
  fingerprint: (): string => 'same',
} satisfies Required<IdempotencyRouteOptions>;
const rewardRule = {
  limit: 1,
  pointsPerItem: 2,
  capPoints: 3,
  period: 'total',
  timeZone: 'UTC',
  dayStartsAt: '04:00',
  weekStartsOn: 1,
  dedupe: 'ever',
  retentionMs: 60_000,
} satisfies Required<RewardRule>;
const limiter = {
  onRedisError: 'allow',
  deadlineMs: 100,
} satisfies Partial<RateLimitModuleOptions>;
const adapter = { address: () => undefined, refusal: () => new Error('no'), call: () => undefined };
export const everyOfWork = {
  concurrency: 2,
  leaseMs: 1_000,
  attempts: 2,
  backoff: { delayMs: 10, factor: 2, maxDelayMs: 20 },
  timeoutMs: 1_000,
};

/** All libs, each with every option of its module. An option that is missing here does not compile. */
export const libs: readonly Lib[] = [
  {
    name: 'script-registry',
    module: ScriptRegistryModule,
    extras: { name: 'third' },
    needed: {},
    get every() {
      const client = standaloneClient();
      open.add(() => client.disconnect());
      return {
        client,
        prefix: uniquePrefix(),
        preload: 'required',
        deadlineMs: 1_000,
        grouping: false,
      } satisfies Required<Omit<ScriptRegistryModuleOptions, 'url' | 'connection'>>;
    },
    nested: [[{ prefix: 'a{' }, 'prefix is "a{". Expected text without braces.']],
  },
  {
    name: 'lock',
    module: LockModule,
    extras: { registry: 'other' },
    every: {
      leaseMs: 1_000,
      waitMs: 10,
      replicas: 0,
      replicasTimeoutMs: 10,
      node: 'me',
      drainMs: 0,
      abortGraceMs: 0,
    } satisfies Required<LockModuleOptions>,
    nested: [[{ leaseMs: 5 }, /^leaseMs is 5\. Expected an integer from 10 /]],
  },
  {
    name: 'scheduled-lock',
    module: ScheduledLockModule,
    needed: { namespace: 'n' },
    extras: { registry: 'other' },
    every: {
      namespace: 'n',
      node: 'me',
      leaseMs: 1_000,
      onRedisError: 'run',
      replicas: 0,
      replicasTimeoutMs: 10,
      drainMs: 0,
      abortGraceMs: 0,
    } satisfies Required<ScheduledLockModuleOptions>,
    nested: [[{ namespace: 'two words' }, /^namespace is "two words"\. Expected 1 to 100 letters/]],
  },
  {
    name: 'once',
    module: OnceModule,
    extras: { registry: 'other', isGlobal: false },
    every: {
      leaseMs: 1_000,
      retentionMs: 1_000,
      maxResultBytes: 10,
      maxLeaseMs: 2_000,
      replicas: 1,
      replicasTimeoutMs: 10,
      drainMs: 0,
      abortGraceMs: 0,
      idempotency: {
        subject: resolver,
        header: 'X-Key',
        onRedisError: 'run',
        required: false,
      } satisfies Required<OnceModuleOptions['idempotency']>,
    } satisfies Required<OnceModuleOptions>,
    nested: [
      [{ idempotency: null }, /^idempotency is null\. Expected an object\. Known options: subject, /],
      [{ idempotency: { subject: resolver, headers: 'a' } }, /^There is no option "headers" in idempotency\. Known: /],
    ],
  },
  {
    name: 'read-reward',
    module: ReadRewardModule,
    extras: { registry: 'other' },
    needed: { rules: { read: { limit: 1 } } },
    every: {
      rules: { read: rewardRule },
      operationRetentionMs: 1_000,
      ledgerRetentionMs: 60_000,
      partitions: 1,
    } satisfies Required<ReadRewardModuleOptions>,
    nested: [
      [{ rules: { read: { limit: 1, cap: 2 } } }, /^There is no option "cap" in rules\.read\. Known: limit, /],
      [{ rules: { read: 5 } }, /^rules\.read is 5\. Expected an object\. Known options: limit, /],
    ],
  },
  {
    name: 'delayed-task',
    module: DelayedTaskModule,
    extras: { registry: 'other' },
    every: {
      namespace: 'q',
      partitions: 1,
      concurrency: 1,
      work: true,
      broadcastEvents: true,
      leaseMs: 1_000,
      attempts: 1,
      backoff: { delayMs: 1, factor: 1, maxDelayMs: 2 },
      timeoutMs: 1_000,
      keepResultMs: 1,
      maxPayloadBytes: 10,
      operationRetentionMs: 1_000,
      startLimit: { limit: 100, windowMs: 1_000 },
      groupLimits: { concurrency: 10, rate: { limit: 100, windowMs: 1_000 } },
      deadRetentionMs: 1_000,
      drainMs: 0,
      abortGraceMs: 0,
      queues: { other: { concurrency: 1, partitions: 2, work: true } },
    } satisfies Required<DelayedTaskModuleOptions>,
    nested: [
      [
        { backoff: { delayMs: 1, factr: 2 } },
        'There is no option "factr" in backoff. Known: delayMs, factor, maxDelayMs.',
      ],
      [{ backoff: 'slow' }, /^backoff is "slow"\. Expected an object \{ delayMs\?, /],
    ],
  },
  {
    name: 'stream-consumer',
    module: StreamConsumerModule,
    extras: { registry: 'other' },
    every: {
      ...everyOfWork,
      drainMs: 0,
      abortGraceMs: 0,
    } satisfies Required<StreamConsumerModuleOptions>,
    nested: [
      [{ backoff: { delay: 1 } }, 'There is no option "delay" in backoff. Known: delayMs, factor, maxDelayMs.'],
      [{ backoff: { factor: 0.5 } }, 'backoff.factor is 0.5. Expected a number from 1 to 1000.'],
    ],
  },
  {
    name: 'rate-limit',
    module: RateLimitModule,
    extras: { registry: 'other', interceptor: true },
    every: {
      rules: [{ name: 'r', limit: 1, windowMs: 1, blockMs: 1, maxBlockMs: 5 }],
      ...limiter,
      onUnknownSubject: 'deny',
      ipv6Prefix: 64,
      responses: { headers: false, problem: false },
      contexts: { own: adapter },
    } satisfies Required<RateLimitModuleOptions>,
    nested: [
      [{ responses: { header: false } }, 'There is no option "header" in responses. Known: headers, problem.'],
      [{ responses: { problem: 1 } }, 'responses.problem is 1. Expected true, false or a function.'],
      [{ responses: { headers: {} } }, 'responses.headers is an object. Expected true, false or a function.'],
      [{ responses: false }, 'responses is false. Expected an object. Known options: headers, problem.'],
      [{ contexts: null }, 'contexts is null. Expected an object.'],
      [{ contexts: { own: resolver } }, /^contexts\["own"\] is a function\. Expected an adapter: /],
      [{ contexts: { own: { ...adapter, call: 1 } } }, 'contexts["own"].call is 1. Expected a function.'],
      [{ rules: [{ name: 'r', limit: 1, windowsMs: 1 }] }, /^There is no option "windowsMs" in rules\[0\]\. Known: /],
      [{ rules: [null] }, /^rules\[0\] is null\. Expected an object\. Known options: name, limit, windowMs, /],
    ],
  },
  {
    name: 'rate-limit/throttler-storage',
    module: RateLimitThrottlerStorageModule,
    extras: { registry: 'other' },
    every: { algorithm: 'sliding-window', ...limiter } satisfies Required<RateLimitThrottlerStorageModuleOptions>,
    nested: [[{ rules: [] }, /^There is no option "rules"\. Known: algorithm, /]],
  },
  {
    name: 'red-packet',
    module: RedPacketModule,
    extras: { registry: 'other', controller: false },
    needed: { identity: resolver },
    beside: () => [DelayedTaskModule.forRoot({ registry: 'other' })],
    every: {
      identity: resolver,
      adminGuard: { canActivate: () => true },
      retentionMs: 60_000,
      eligibility: () => true,
      replicas: 0,
      replicasTimeoutMs: 1,
      partitions: 2,
      onClosed: () => undefined,
      ledger: () => [],
      participantName: () => undefined,
    } satisfies Required<RedPacketModuleOptions>,
    nested: [[{ identity: null }, /^identity is null\. Expected a function /]],
  },
  {
    name: 'outbox',
    module: OutboxModule,
    extras: { isGlobal: false },
    needed: { database: noDatabase },
    beside: () => [DelayedTaskModule.forRoot()],
    every: {
      database: noDatabase,
      table: 'shop.outbox',
      relay: false,
      pollMs: 10,
      batch: 1,
      drainMs: 0,
    } satisfies Required<OutboxModuleOptions>,
    nested: [
      [{ database: {} }, 'database is an object. Expected an object with the function transaction.'],
      [{ table: 'a"b' }, /^table is "a\\"b"\. Expected a name of letters, /],
      [{ table: 'a.b.c' }, /^table is "a\.b\.c"\. Expected a name of letters, /],
    ],
  },
  {
    name: 'metrics',
    module: MetricsModule,
    beside: () => [DelayedTaskModule.forRoot()],
    every: {
      meterProvider: metrics.getMeterProvider(),
      tracerProvider: trace.getTracerProvider(),
      calls: true,
      spans: true,
      tasks: DelayedTaskService,
    } satisfies Required<MetricsModuleOptions>,
    nested: [
      [{ calls: 'yes' }, 'calls is "yes". Expected true or false.'],
      [{ meterProvider: null }, 'meterProvider is null. Expected an object with a method getMeter().'],
    ],
  },
  {
    name: 'console',
    module: ConsoleModule,
    extras: { path: '/ops/console', registry: 'other' },
    every: {
      guard: { canActivate: () => true },
      readOnly: false,
      actor: () => ({ name: 'ann', role: 'act' }),
      showPayloads: true,
      redact: (payload: unknown) => payload,
    } satisfies Required<ConsoleModuleOptions>,
    nested: [
      [{ guard: null }, 'guard is null. Expected a class or an object with canActivate().'],
      [{ guard: [{}] }, 'guard[0] is an object. Expected a class or an object with canActivate().'],
      [{ readOnly: false }, /^readOnly is false, and there is no option actor, so nobody could run an action\. /],
      [{ redact: 'all' }, 'redact is "all". Expected a function that returns what is shown of a payload.'],
    ],
  },
];
