import { Redis, type RedisOptions } from 'ioredis';
import { ScriptRefusedError } from 'luanest/script-registry';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { eventually } from '../../../test/support/wait';
import {
  dumpAll,
  figures,
  openBench,
  packetOf,
  payAll,
  quiet,
  readGrants,
  readOutbox,
  readPool,
  sum,
  untilAnswered,
} from './support';
import type { Bench } from './support';

const ACTIVITY = 'faulty';

describe('a grab that cannot be finished changes nothing', () => {
  let server: RedisServer;
  let bench: Bench;
  let keys: ReturnType<Bench['keysOf']>;
  const closing: (() => void)[] = [];

  beforeAll(async () => {
    server = await startRedis();
  });
  beforeEach(async () => {
    bench = await connect();
    keys = bench.keysOf(ACTIVITY);
    await bench.raw.flushall();
    await bench.packets.create(figures(ACTIVITY, 5));
    await bench.packets.grab(ACTIVITY, 'first');
  });
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });
  afterAll(() => server.stop());

  async function connect(options: RedisOptions = {}, port = server.port): Promise<Bench> {
    const opened = await openBench(quiet(new Redis(port, options)), { prefix: 'faults' });
    closing.push(() => opened.close());
    return opened;
  }

  /** Grabs of a new user must reject with the given error, alone and in a group, and change nothing. */
  async function refuses(error: object, { packets }: Bench = bench): Promise<void> {
    const before = await dumpAll(bench.raw);
    expect(before.length).toBeGreaterThan(3);
    await expect(packets.grab(ACTIVITY, 'second')).rejects.toMatchObject(error);
    const statuses = await Promise.allSettled(['a', 'b', 'c'].map((user) => packets.grab(ACTIVITY, user)));
    expect(statuses).toMatchObject(Array.from({ length: 3 }, () => ({ status: 'rejected', reason: error })));
    expect(await dumpAll(bench.raw)).toEqual(before);
  }

  it.each(['meta', 'pool', 'grants', 'outbox'] as const)('%s of a wrong type', async (name) => {
    await bench.raw.set(keys[name], 'of another type');
    await refuses({ code: 'SCRIPT_FAILED', redisCode: 'WRONGTYPE' });
  });

  it.each([
    ['', 'BADPACKET'],
    ['x', 'BADPACKET'],
    ['5', 'BADPACKET'],
    ['5:', 'BADPACKET'],
    [':5', 'BADPACKET'],
    ['5:x', 'BADPACKET'],
    ['5:-1', 'BADPACKET'],
    ['5:1.5', 'BADPACKET'],
    ['5:1', 'BADPACKET'],
    ['5:1:', 'BADPACKET'],
    ['5:1:2:3', 'BADPACKET'],
    [' 5:1:1', 'BADPACKET'],
    ['5:1:1\n', 'BADPACKET'],
    ['5:0:0', 'BADPACKET'],
    ['5:007:7', 'BADPACKET'],
    ['5:501:501', 'BADMETA'],
    ['5:99999999999999999:1', 'BADPACKET'],
    ['5:99999999999999999999:1', 'BADPACKET'],
  ])('a pool that starts with %j', async (head, redisCode) => {
    await bench.raw.lpush(keys.pool, head);
    await refuses({ code: 'SCRIPT_FAILED', redisCode });
  });

  it.each(['', 'x', '-1', '1.5', ' 1', '007', '+5', '1e3', '99999999999999999', '99999999999999999999'])(
    'cents granted of %j',
    async (cents) => {
      await bench.raw.hset(keys.grants, '', cents);
      await refuses({ code: 'SCRIPT_FAILED', redisCode: 'BADMETA' });
    },
  );

  it.each(['heldCents', 'endsAtMs', 'maxTries'])('%s that is missing', async (field) => {
    await bench.raw.hdel(keys.meta, field);
    await refuses({ code: 'SCRIPT_FAILED', redisCode: 'BADMETA' });
  });

  it.each([
    ['bestCents', 'x'],
    ['heldCents', 'nan'],
    ['maxTries', 'x'],
    ['startsAtMs', ''],
  ])('%s of %j', async (field, text) => {
    await bench.raw.hset(keys.meta, field, text);
    await refuses({ code: 'SCRIPT_FAILED', redisCode: 'BADMETA' });
  });

  it.each([
    ['grants', 'LOSTGRANTS'],
    ['outbox', 'LOSTOUTBOX'],
  ] as const)('%s that were evicted', async (name, redisCode) => {
    await bench.raw.del(keys[name]);
    await refuses({ code: 'SCRIPT_FAILED', redisCode });
  });

  it('an outbox whose ids are used up', async () => {
    const last = '18446744073709551615-18446744073709551615';
    await bench.raw.xadd(keys.outbox, last, 'user', 'x', 'packet', '9', 'cents', '1', 'at', '1');
    await refuses({ code: 'SCRIPT_FAILED' });
  });

  it('a grant that is malformed, for its user alone', async () => {
    await bench.raw.hset(keys.grants, 'first', 'what?');
    const before = await dumpAll(bench.raw);
    await expect(bench.packets.grab(ACTIVITY, 'first')).rejects.toMatchObject({ redisCode: 'BADGRANT' });
    expect(await dumpAll(bench.raw)).toEqual(before);
    expect(await bench.packets.grab(ACTIVITY, 'second')).toMatchObject({ status: 'won' });
  });

  it('memory that is full: refused before it runs, while payouts go on', async () => {
    await bench.raw.config('SET', 'maxmemory', '1');
    try {
      await refuses({ code: 'SCRIPT_REFUSED', redisCode: 'OOM' });
      await expect(bench.packets.create(figures('other', 2))).rejects.toThrow(ScriptRefusedError);
      // Were these refused, memory could never be freed by paying out.
      expect(await bench.packets.activities()).toEqual([ACTIVITY]);
      expect(await payAll(bench, ACTIVITY)).toHaveLength(1);
      expect(await bench.packets.status(ACTIVITY)).toMatchObject({ grantedPackets: 1, openPayouts: 0 });
    } finally {
      await bench.raw.config('SET', 'maxmemory', '0');
    }
    expect(await bench.packets.grab(ACTIVITY, 'second')).toMatchObject({ status: 'won' });
  });

  it('a replica: refused before it runs', async () => {
    await bench.raw.replicaof('127.0.0.1', '1');
    try {
      await refuses({ code: 'SCRIPT_REFUSED', redisCode: 'READONLY' });
    } finally {
      await bench.raw.replicaof('NO', 'ONE');
    }
    expect(await bench.packets.grab(ACTIVITY, 'second')).toMatchObject({ status: 'won' });
  });

  it.each(['xadd', 'lpop', 'hset'])('a Redis user who may not run %s, which is reported at boot', async (name) => {
    await bench.raw.acl('SETUSER', `no-${name}`, 'on', '>pw', '~*', '&*', '+@all', `-${name}`);
    const limited = await connect({ username: `no-${name}`, password: 'pw' });
    await refuses({ code: 'SCRIPT_FAILED', redisCode: 'NOTALLOWED' }, limited);
    const booting = limited.packets.onModuleInit();
    await expect(booting).rejects.toThrow(expect.objectContaining({ code: 'MISSING_PERMISSION' }) as Error);
    await expect(booting).rejects.toThrow(
      new RegExp(`may not run ${name.toUpperCase()} on keys such as .* \\+${name}\\.$`),
    );
    await bench.raw.acl('SETUSER', `no-${name}`, `+${name}`);
    await expect(limited.packets.onModuleInit()).resolves.toBeUndefined();
    expect(await limited.packets.grab(ACTIVITY, 'second')).toMatchObject({ status: 'won' });
  });

  it('boot names all that is missing, and takes a user who has just what is needed', async () => {
    await bench.raw.acl('SETUSER', 'poor', 'on', '>pw', '~*', '&*', '+@all', '-xgroup', '-zadd', '-hscan');
    const poor = await connect({ username: 'poor', password: 'pw' });
    await expect(poor.packets.onModuleInit()).rejects.toThrow(
      /HSCAN, XGROUP, ZADD on keys such as .* \+hscan \+xgroup \+zadd\.$/,
    );
    await bench.raw.acl('SETUSER', 'poor', '-@all', '+@connection', '+info', '+evalsha', '+script', ...NEEDED);
    const spare = await connect({ username: 'poor', password: 'pw' });
    await spare.packets.onModuleInit();
    await spare.packets.create(figures('whole', 1_500));
    await spare.packets.grab('whole', 'u');
    expect(await spare.packets.records('whole')).toMatchObject({ items: [{ userId: 'u' }] });
    expect(await spare.packets.status('whole')).toMatchObject({ grantedPackets: 1 });
    expect(await spare.packets.activities()).toContain('whole');
  });

  it('scripts that were flushed amid grabs cost no packet and give none twice', async () => {
    await bench.packets.create(figures('flushed', 300));
    const answers = await Promise.all(
      Array.from({ length: 300 }, async (_, i) => {
        if (i % 60 === 30) await bench.raw.script('FLUSH');
        return bench.packets.grab('flushed', `u${i}`);
      }),
    );
    expect(new Set(answers.map((answer) => packetOf(answer).packetId)).size).toBe(300);
    expect(await bench.packets.status('flushed')).toMatchObject({
      grantedPackets: 300,
      grantedCents: 30_000,
      openPayouts: 300,
    });
  });
});

const NEEDED = (
  '+time +exists +get +set +hexists +hget +hmget +hlen +hkeys +hdel +hscan +hset +hincrby +llen +lindex +lpop +lrange +lrem +ltrim +rename +rpush +pttl ' +
  '+pexpireat +persist +xlen +xrange +xrevrange +xadd +xdel +xgroup ' +
  '+zadd +zcard +zrange +zscore +zrem'
).split(' ');

describe('a server that is killed amid a run', () => {
  it('comes back with every grant it answered, and the run goes on to conserve all packets and cents', async () => {
    const server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    const client = quiet(new Redis(server.port, { retryStrategy: () => 20, maxRetriesPerRequest: null }));
    const bench = await openBench(client, { deadlineMs: 20_000 });
    try {
      await bench.packets.create(figures('killed', 400));
      const answered = new Map<string, string>();
      const tap = async (user: string): Promise<void> => {
        const answer = await untilAnswered(() => bench.packets.grab('killed', user));
        answered.set(user, packetOf(answer).packetId);
      };
      const running = Promise.all(
        Array.from({ length: 10 }, async (_, worker) => {
          for (let i = 0; i < 30; i++) await tap(`${worker}-${i}`);
        }),
      );
      await eventually(() => expect(answered.size).toBeGreaterThan(60), { everyMs: 1 });
      await server.kill();
      const before = new Map(answered);
      expect(before.size).toBeLessThan(300);
      await server.restart();
      await running;

      const keys = bench.keysOf('killed');
      const grants = await readGrants(bench, keys);
      expect(new Map(grants.map(({ userId, packetId }) => [userId, packetId]))).toEqual(answered);
      for (const [user, packet] of before) expect(answered.get(user)).toBe(packet);
      const pool = await readPool(bench, keys);
      expect(new Set([...answered.values(), ...pool.map(([id]) => id)]).size).toBe(400);
      const granted = sum(grants.map(({ amountCents }) => amountCents));
      expect(granted + sum(pool.map(([, cents]) => cents))).toBe(40_000);
      expect(await bench.packets.status('killed')).toMatchObject({
        grantedPackets: 300,
        grantedCents: granted,
        openPayouts: 300,
      });
      const sorted = (all: typeof grants): string[] => all.map((grant) => JSON.stringify(grant)).sort();
      expect(sorted(await readOutbox(bench, keys))).toEqual(sorted(grants));
    } finally {
      bench.close();
      await server.stop();
    }
  });
});
