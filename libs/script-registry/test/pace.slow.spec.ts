import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setImmediate as turn } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { defineScript, int, ScriptRegistryEvents, type ScriptRegistry } from 'luanest/script-registry';
import { startFaultProxy, startRedis, type RedisServer } from 'luanest/testing/servers';
import { eventually, sleep } from '../../../test/support/wait';
import { FEW } from './fake-redis';
import { openRegistry, quiet } from './support';

/** Keeps Redis busy for the time of its argument. `own` does the same; other tests do not make it slow. */
const scripts = ['spin', 'own'].map((name) =>
  defineScript({
    name: `test.${name}`,
    keys: ['any'],
    args: { spins: int },
    source: `
local x = 0
for i = 1, tonumber(ARGV[1]) do x = x + i end
return { 1, #KEYS }`,
    reply: (raw: number[]) => raw,
  }),
);
const [spin, own] = scripts as [(typeof scripts)[0], (typeof scripts)[0]];

describe('how long a group holds Redis', () => {
  let server: RedisServer;
  let admin: Redis;
  let spinsPerMs: number;
  const closing: (() => void)[] = [];

  beforeAll(async () => {
    server = await startRedis();
    admin = quiet(new Redis(server.port));
    // The best of several: a machine under load does not always run Redis.
    const speeds: number[] = [];
    for (let i = 0; i < 8; i++) {
      await admin.config('RESETSTAT');
      await admin.eval('local x = 0 for i = 1, 2000000 do x = x + i end', 0);
      const [, tookUs] = /cmdstat_eval:calls=1,usec=(\d+)/.exec(await admin.info('commandstats')) ?? [];
      speeds.push(2_000_000 / (Number(tookUs) / 1_000));
    }
    spinsPerMs = Math.max(...speeds);
  });
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  async function open(port = server.port): Promise<ScriptRegistry> {
    const client = quiet(new Redis(port));
    const registry = await openRegistry(client, { preload: 'required', deadlineMs: 30_000 }, scripts);
    closing.push(() => (registry.close(), client.disconnect()));
    return registry;
  }

  /** Makes so many calls at once; returns the sizes of the groups. */
  async function burst(registry: ScriptRegistry, script: typeof spin, calls: number, spins: number): Promise<number[]> {
    const groups: number[] = [];
    const listener = (message: unknown): void => {
      const group = message as ScriptRegistryEvents['groupSent'];
      if (group.script === script.name) groups.push(group.calls);
    };
    subscribe(ScriptRegistryEvents.groupSent, listener);
    const run = (): Promise<unknown> =>
      registry.run(script, { keys: { any: 'k' }, args: { spins: Math.round(spins) } });
    await Promise.all(Array.from({ length: calls }, run)).finally(() =>
      unsubscribe(ScriptRegistryEvents.groupSent, listener),
    );
    return groups;
  }

  it('calls of a few ms each leave in small groups, so that other clients need not wait', async () => {
    const registry = await open();
    expect(Math.max(...(await burst(registry, spin, 320, 6 * spinsPerMs)))).toBeLessThanOrEqual(16);
    expect(Math.max(...(await burst(registry, spin, 64, 6 * spinsPerMs)))).toBeLessThanOrEqual(8);
    // Quick again: the groups grow again.
    let groups: number[] = [];
    for (let round = 0; round < 20 && !groups.includes(128); round++) groups = await burst(registry, spin, 400, 1);
    expect(groups).toContain(128);
  });

  it('a slow link does not make the groups of a quick script small', async () => {
    const proxy = await startFaultProxy(server);
    proxy.delay(15);
    closing.push(() => void proxy.stop());
    const registry = await open(proxy.port);
    let groups: number[] = [];
    for (let round = 0; round < 40 && !groups.includes(128); round++) {
      groups = await burst(registry, spin, 600, 1);
      await sleep(110);
    }
    expect(groups).toContain(128);
  });

  it('a script that others keep waiting is not taken for a slow one', async () => {
    const [registry, slow] = [await open(), await open()];
    let over = false;
    const hog = (async () => {
      while (!over) await burst(slow, spin, 4, 8 * spinsPerMs);
    })();
    let groups: number[] = [];
    for (let round = 0; round < 40 && !groups.includes(128); round++) {
      groups = await burst(registry, own, 600, 1);
      await sleep(110);
    }
    over = true;
    await hog;
    expect(groups).toContain(128);
  });

  it('without the permission for TIME groups are as large as the script allows', async () => {
    await admin.acl('SETUSER', 'timeless', 'on', '>pw', '~*', '&*', '+@all', '-time');
    const proxy = await startFaultProxy(server);
    proxy.delay(15);
    closing.push(() => void proxy.stop());
    const client = quiet(new Redis(proxy.port, { username: 'timeless', password: 'pw' }));
    const registry = await openRegistry(client, { preload: 'required' }, scripts);
    closing.push(() => (registry.close(), client.disconnect()));
    let groups: number[] = [];
    for (let round = 0; round < 40 && !groups.includes(128); round++) groups = await burst(registry, spin, 600, 1);
    expect(groups).toContain(128);
  });
});

describe('calls that come one after another, each in a turn of its own', () => {
  let server: RedisServer;
  const closing: (() => void)[] = [];

  beforeAll(async () => {
    server = await startRedis();
  });
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });
  afterAll(() => server.stop());

  /** Makes so many calls, after some that take so many spins. Returns the number of groups in flight after each. */
  async function arrive(port: number, calls: number, before: readonly number[]): Promise<number[]> {
    const client = quiet(new Redis(port, '127.0.0.1'));
    const registry = await openRegistry(client, { preload: 'required', deadlineMs: 30_000 }, scripts);
    closing.push(() => (registry.close(), client.disconnect()));
    const run = (spins: number): Promise<unknown> => registry.run(own, { keys: { any: 'k' }, args: { spins } });
    // Several at once: only the time of groups is known.
    for (const spins of before) await Promise.all(Array.from({ length: FEW + 2 }, () => run(spins)));
    const inFlight: number[] = [];
    const listener = (message: unknown): void => {
      inFlight.push((message as ScriptRegistryEvents['groupSent']).inFlight);
    };
    subscribe(ScriptRegistryEvents.groupSent, listener);
    const replies: Promise<unknown>[] = [];
    for (let i = 0; i < calls; i++) {
      replies.push(run(before.at(-1) as number));
      await turn();
    }
    unsubscribe(ScriptRegistryEvents.groupSent, listener);
    await Promise.all(replies);
    return inFlight;
  }

  it('do not wait for a reply on a slow link', async () => {
    const proxy = await startFaultProxy(server);
    proxy.delay(100);
    closing.push(() => void proxy.stop());
    expect(await arrive(proxy.port, 10, [1])).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it('wait for a reply while Redis is busy, so that groups fill', async () => {
    // On a busy machine, this process may wait for a core while Redis has replied, which looks like a slow link.
    await eventually(
      async () => {
        const inFlight = await arrive(server.port, 10, [1, 1, 1, 10_000_000]);
        expect(Math.max(...inFlight)).toBeGreaterThanOrEqual(4);
        expect(Math.max(...inFlight)).toBeLessThanOrEqual(FEW + 4);
      },
      { timeoutMs: 60_000 },
    );
  });
});
