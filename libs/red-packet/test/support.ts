import { once } from 'node:events';
import type { Cluster, Redis } from 'ioredis';
import {
  NotSentError,
  UnknownOutcomeError,
  type ScriptRegistry,
  type ScriptRegistryModuleOptions,
} from 'luanest/script-registry';
import {
  RedPacketPayouts,
  RedPacketService,
  type CreateActivity,
  type GrabResult,
  type Grant,
  type Packet,
  type Payout,
  type RedPacketModuleOptions,
} from 'luanest/red-packet';
import { StreamConsumerService } from 'luanest/stream-consumer';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { clusterClient, openRegistry, standaloneClient } from '../../script-registry/test/support';
import { fingerprintOf } from '../src/activity/creation';
import { Activities } from '../src/activity/activities';
import type { BucketKeys } from '../src/buckets/layout';
import { rowOf } from '../src/payouts/payout-row';
import { checkActivity } from '../src/red-packet.input';
import { resolveOptions } from '../src/red-packet.options';
import { redPacketScripts } from '../src/red-packet.scripts';
import { resolveOptions as resolveStreams } from '../../stream-consumer/src/stream-consumer.options';
import { streamConsumerScripts } from '../../stream-consumer/src/stream-consumer.scripts';
import { eventually, sleep } from '../../../test/support/wait';

export { quiet } from '../../script-registry/test/support';

/** The two kinds of server on which each contract is tested. */
export const servers: [string, () => Redis | Cluster][] = [
  ['standalone', standaloneClient],
  ['Cluster', clusterClient],
];

export type ActivityKeys = Pick<BucketKeys, 'meta' | 'pool' | 'grants' | 'outbox'>;

export interface Bench {
  readonly prefix: string;
  readonly registry: ScriptRegistry;
  readonly packets: RedPacketService;
  readonly payouts: RedPacketPayouts;
  readonly streams: StreamConsumerService;
  /** The client as one of a standalone server: keys of one activity share a slot, so its commands do on a Cluster too. */
  readonly raw: Redis;
  /** The parts that the services share. */
  readonly activities: Activities;
  keysOf(activityId: string): ActivityKeys;
  /** Keys of each bucket. */
  bucketsOf(activityId: string, buckets: number): readonly BucketKeys[];
  close(): void;
}

export const RETENTION_MS = 600_000;

export interface BenchOptions extends ScriptRegistryModuleOptions {
  retentionMs?: number;
  settings?: Omit<RedPacketModuleOptions, 'identity'>;
  /** How long a process remembers that an activity is sold out, ms. */
  soldOutMs?: number;
  /** How long a grab waits for packets of other buckets, ms. The default is longer than that of the module. */
  transferWaitMs?: number;
  /** Lease of payouts, ms. Default 500. */
  leaseMs?: number;
}

/** Creates the services on a client of the test, outside Nest. */
export async function openBench(
  client: Redis | Cluster,
  {
    retentionMs = RETENTION_MS,
    soldOutMs = 1_000,
    transferWaitMs = 20_000,
    leaseMs = 500,
    settings = {},
    ...options
  }: BenchOptions = {},
): Promise<Bench> {
  const prefix = options.prefix ?? uniquePrefix();
  if (client.status !== 'ready') await once(client, 'ready');
  const scripts = [...redPacketScripts, ...streamConsumerScripts];
  const registry = await openRegistry(client, { preload: 'required', ...options, prefix }, scripts);
  const streams = new StreamConsumerService(
    registry,
    resolveStreams({ leaseMs, backoff: { delayMs: 10 }, drainMs: 500 }),
  );
  // Set after the checks, because tests use a retention of less than a minute. A pause of the machine must not turn a win into
  // "try again".
  const resolved = {
    ...resolveOptions({ identity: () => undefined, ...settings }),
    retentionMs,
    soldOutMs,
    transferWaitMs,
  };
  const activities = new Activities(registry, resolved);
  const packets = new RedPacketService(registry, resolved, { activities });
  const payouts = new RedPacketPayouts(registry, activities, streams);
  return {
    prefix,
    registry,
    packets,
    payouts,
    streams,
    raw: client as Redis,
    activities,
    keysOf: (activityId) => activities.layouts.root(activityId).buckets[0] as BucketKeys,
    bucketsOf: (activityId, buckets) => activities.layouts.build(activityId, buckets).buckets,
    close() {
      // Handlers that still run may end as if the process had died.
      void payouts.beforeApplicationShutdown();
      packets.onApplicationShutdown();
      registry.close();
      client.disconnect();
    },
  };
}

/** Options of a payout run that need not wait. */
export const QUICK = { backoff: { delayMs: 10 } };

/** The keys of a bucket that belong to it alone: all but the outbox of its partition. */
export function ownKeys(keys: Partial<BucketKeys>): Record<string, string> {
  const entries = Object.entries<string>(keys as Record<string, string>);
  return Object.fromEntries(entries.filter(([name]) => name !== 'outbox'));
}

/** Redis' time, ms. */
export async function redisNow({ raw }: Pick<Bench, 'raw'>): Promise<number> {
  const [seconds, micros] = await raw.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

/**
 * Does what must be done before a moment that lies `ms` ahead. Where it fails and the moment is over, because the machine
 * stood still, it is done again with more time; `turn` counts from 1, for names.
 */
export async function before<T>(
  bench: Pick<Bench, 'raw'>,
  ms: number,
  work: (atMs: number, turn: number) => Promise<T>,
): Promise<T> {
  for (let turn = 1; ; turn++) {
    const atMs = (await redisNow(bench)) + ms * turn;
    try {
      return await work(atMs, turn);
    } catch (error) {
      if (turn === 5 || (await redisNow(bench)) < atMs) throw error;
    }
  }
}

/** Pays all that is open, and answers it in the order of the handler's calls. */
export async function payAll({ packets, payouts }: Bench, activityId: string): Promise<Payout[]> {
  const paid: Payout[] = [];
  const run = payouts.run((payout) => void paid.push(payout), { ...QUICK, concurrency: 1 });
  await eventually(async () => expect((await packets.status(activityId))?.openPayouts ?? 0).toBe(0), {
    timeoutMs: 60_000,
  });
  await run.stop();
  return paid.filter((payout) => payout.activityId === activityId);
}

/**
 * Takes rows past the lib, as a consumer of the group. Returns the ids of those of an activity; rows of others that come before
 * are taken too.
 */
export async function takeRows(
  { raw }: Pick<Bench, 'raw'>,
  outbox: string,
  count: number,
  activityId?: string,
): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const read = (await raw.xreadgroup('GROUP', 'payouts', 'w', 'COUNT', 1, 'STREAMS', outbox, '>')) as
      [string, [string, string[]][]][] | null;
    const [entry] = read?.[0]?.[1] ?? [];
    if (entry === undefined) break;
    const [id, [, owner = '']] = entry;
    if (activityId === undefined || owner.startsWith(`${encodeURIComponent(activityId)}@`)) ids.push(id);
  }
  return ids;
}

/** Settles rows as a payout run does, without a handler. */
export async function settleRows(bench: Pick<Bench, 'raw' | 'activities'>, outbox: string, ids: readonly string[]) {
  const { layouts, outboxes } = bench.activities;
  for (const id of ids) {
    const [[, fields] = ['', []]] = await bench.raw.xrange(outbox, id, id);
    const entry = Object.fromEntries(fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1]]] : [])));
    const row = rowOf(entry, outbox, layouts);
    if (row === undefined) throw new Error(`Entry ${id} is not a payout row: ${JSON.stringify(entry)}.`);
    await outboxes.settle(row, id);
  }
}

/** Arguments of begin-activity for an activity with one bucket. */
export function beginArgs(activity: CreateActivity, seed: string) {
  const life = { startsAtMs: 0, endsAtMs: 0, maxTries: 0, soldOutMs: 1_000, retentionMs: RETENTION_MS, expiresAtMs: 0 };
  const { totalCents, packets } = activity;
  const fingerprint = fingerprintOf(checkActivity(activity));
  return {
    fingerprint,
    totalCents,
    packets,
    allPackets: packets,
    buckets: 1,
    bucket: 0,
    ...life,
    seed,
    reports: 0,
    encodedId: activity.activityId,
  };
}

/** Packets as a pool keeps them. */
export function entriesOf(amounts: readonly number[], first = 1, before = 0): string[] {
  let total = before;
  return amounts.map((cents, i) => `${first + i}:${cents}:${(total += cents)}`);
}

/** Parameters that any split can meet. */
export function figures(activityId: string, packets: number, totalCents = packets * 100): CreateActivity {
  return { activityId, packets, totalCents };
}

export function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}

/** The packet of an answer that must hold one. */
/** Makes a call again while it gets no answer, as a user taps again. ioredis would send the command again itself. */
export async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof UnknownOutcomeError || error instanceof NotSentError)) throw error;
      await sleep(20);
    }
  }
}

export function packetOf(answer: GrabResult): Packet {
  if (answer.status === 'won' || answer.status === 'already-won') return answer.packet;
  throw new Error(`There is no packet in ${JSON.stringify(answer)}.`);
}

/** Amounts in the pool, by packet and in order. */
export async function readPool({ raw }: Bench, { pool }: ActivityKeys): Promise<[string, number][]> {
  const entries = await raw.lrange(pool, 0, -1);
  return entries.map((entry) => {
    const [id, cents] = entry.split(':');
    return [id as string, Number(cents)];
  });
}

/** The grants as the hash holds them, read past the lib. */
export async function readGrants({ raw }: Pick<Bench, 'raw'>, { grants }: ActivityKeys): Promise<Grant[]> {
  const flat = (await raw.callBuffer('HGETALL', grants)) as Buffer[] | Map<Buffer, Buffer>;
  const texts = (Array.isArray(flat) ? flat : [...flat].flat()).map(String);
  const records: Grant[] = [];
  for (let i = 0; i < texts.length; i += 2) {
    const [packetId, cents, at] = (texts[i + 1] as string).split(':');
    if (texts[i] === '') continue;
    const grant = { packetId: packetId as string, amountCents: Number(cents), grantedAtMs: Number(at) };
    records.push({ userId: texts[i] as string, ...grant });
  }
  return records;
}

/** The rows of a bucket as the stream holds them, read past the lib. */
export async function readOutbox({ raw }: Pick<Bench, 'raw'>, { outbox, meta }: ActivityKeys): Promise<Grant[]> {
  const owner = await raw.hget(meta, 'activity');
  const entries = (await raw.xrange(outbox, '-', '+')).filter(([, fields]) => fields[1] === owner);
  return entries.map(([, fields]) => {
    const [, , , userId, , grantText = ''] = fields;
    const [packetId, cents, at] = grantText.split(':');
    const grant = { packetId: packetId as string, amountCents: Number(cents), grantedAtMs: Number(at) };
    return { userId: userId as string, ...grant };
  });
}

export function byUser(records: readonly Grant[]): Grant[] {
  return [...records]
    .map(({ userId, packetId, amountCents, grantedAtMs }) => ({ userId, packetId, amountCents, grantedAtMs }))
    .sort((one, other) => (one.userId < other.userId ? -1 : 1));
}

/** Values and TTLs of keys, byte for byte. */
export async function dumpKeys({ raw }: Pick<Bench, 'raw'>, keys: readonly string[]): Promise<unknown[]> {
  return Promise.all(
    keys.map(async (key) => [key, (await raw.dumpBuffer(key))?.toString('hex'), await raw.pexpiretime(key)]),
  );
}

/** As `dumpKeys`, of everything on a server that is the test's own. */
export async function dumpAll(raw: Redis): Promise<unknown[]> {
  return dumpKeys({ raw }, (await raw.keys('*')).sort());
}

/** All records, page by page, and how many pages there were. */
export async function readRecords(
  { packets }: Pick<Bench, 'packets'>,
  activityId: string,
  limit?: number,
): Promise<{ records: Grant[]; pages: number }> {
  const records: Grant[] = [];
  let pages = 0;
  let cursor: string | undefined;
  do {
    const page = await packets.records(activityId, { cursor, limit });
    records.push(...page.items);
    cursor = page.nextCursor;
    pages += 1;
  } while (cursor !== undefined);
  return { records, pages };
}
