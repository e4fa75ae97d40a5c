import { Cluster, Redis } from 'ioredis';
import calculateSlot from 'cluster-key-slot';
import { defineScript, str, type ScriptRegistry } from 'luanest/script-registry';
import { startCluster, startFaultProxy, startRedis, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import { note } from '../../../test/support/fault-notes';
import { eventually, sleep } from '../../../test/support/wait';
import { openRegistry, quiet } from './support';
import { LONG, size } from '../../../test/support/size';

const ROUNDS = size(12, 1_000);
const TIMEOUT_MS = LONG ? 900_000 : 180_000;
const WORKERS = 12;

/** Each run of each call is in the ledger, which tests read on connections of their own. */
const spend = defineScript({
  name: 'test.spend',
  keys: ['ledger'],
  args: { id: str },
  source: `
local runs = redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], 3600000)
return runs`,
  reply: (raw: number) => raw,
});

const isEvalsha = (request: string): boolean => /evalsha/i.test(request);
const NO_EFFECT = ['NOT_SENT', 'SCRIPT_REFUSED'];
/** Outcomes that the callers of each test must have seen. */
const SEEN = ['UNKNOWN_OUTCOME', 'done'];

interface Told {
  readonly ledger: string;
  readonly id: string;
  /** Code of the error, or `done`. */
  readonly outcome: string;
}

/** Makes calls while `fault` breaks something, round after round. Returns what the callers saw. */
async function underFaults(
  registry: ScriptRegistry,
  ledgers: readonly string[],
  fault: (round: number) => Promise<unknown>,
): Promise<Told[]> {
  const told: Told[] = [];
  let over = false;
  const worker = async (who: number): Promise<void> => {
    for (let i = 0; !over; i++) {
      const [ledger, id] = [ledgers[(who + i) % ledgers.length] as string, `${who}-${i}`];
      const call = registry.run(spend, { keys: { ledger }, args: { id } }, { deadlineMs: 2_000 });
      const outcome = await call.then(
        () => 'done',
        (error: { code: string }) => error.code,
      );
      told.push({ ledger, id, outcome });
      // A refusal comes back at once; without a pause the worker would only collect refusals.
      if (outcome !== 'done') await sleep(2);
    }
  };
  const workers = Promise.all(Array.from({ length: WORKERS }, (_, who) => worker(who)));
  try {
    // A busy machine may lose no reply in these rounds. The checks need both outcomes.
    const complete = (): boolean => SEEN.every((outcome) => told.some((call) => call.outcome === outcome));
    for (let round = 0; round < ROUNDS || (!complete() && round < 20 * ROUNDS); round++) await fault(round);
  } finally {
    over = true;
    await workers;
  }
  return told;
}

/** Compares what callers saw with the ledger. */
function expectNoLie(told: readonly Told[], ledger: ReadonlyMap<string, number>, resends: boolean): void {
  const runs = ({ ledger: key, id }: Told): number => ledger.get(`${key} ${id}`) ?? 0;
  expect(told.filter((call) => NO_EFFECT.includes(call.outcome) && runs(call) > 0)).toEqual([]);
  expect(told.filter((call) => call.outcome === 'done' && runs(call) === 0)).toEqual([]);
  if (!resends) expect(told.filter((call) => runs(call) > 1)).toEqual([]);
  const seen = [...new Set(told.map(({ outcome }) => outcome))];
  expect(seen).toEqual(expect.arrayContaining([...SEEN]));
  note('messages, tasks, slots and grabs checked one by one', told.length);
}

async function readLedgers(nodes: readonly RedisServer[], keys: readonly string[]): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const node of nodes) {
    const admin = quiet(new Redis(node.port));
    for (const key of keys) {
      for (const [id, runs] of Object.entries(await admin.hgetall(key).catch(() => ({})))) {
        found.set(`${key} ${id}`, Number(runs));
      }
    }
    admin.disconnect();
  }
  return found;
}

/** A reply that is lost, and what befalls the server between the run and the next sending. */
function misfortunes(admin: Redis): (() => Promise<unknown>)[] {
  const flush = (): Promise<unknown> => admin.script('FLUSH');
  const full = (): Promise<unknown> => admin.config('SET', 'maxmemory', '1');
  const alone = (): Promise<unknown> => admin.config('SET', 'min-replicas-to-write', '3');
  return [flush, full, alone, () => Promise.all([flush(), full()]), () => Promise.all([flush(), alone()])];
}

async function recover(admin: Redis): Promise<void> {
  await admin.config('SET', 'maxmemory', '0');
  await admin.config('SET', 'min-replicas-to-write', '0');
}

async function loseReply(proxy: FaultProxy, admin: Redis, round: number): Promise<void> {
  const befalls = misfortunes(admin);
  const cut = proxy.dropReply({ when: isEvalsha, settleMs: 2, until: sleep(4) });
  await Promise.race([cut, sleep(200)]);
  await (befalls[round % befalls.length] as () => Promise<unknown>)();
  if (round % 3 === 0) proxy.cut();
  await sleep(round % 2 === 0 ? 40 : 5);
  await recover(admin);
}

describe('no answer is false, whatever breaks', () => {
  jest.setTimeout(TIMEOUT_MS);

  it.each([true, false])('on one server, resending %s', async (resends) => {
    const server = await startRedis();
    const proxy = await startFaultProxy(server);
    const admin = quiet(new Redis(server.port));
    const client = quiet(
      new Redis(proxy.port, '127.0.0.1', { retryStrategy: () => 5, autoResendUnfulfilledCommands: resends }),
    );
    const registry = await openRegistry(client, { preload: 'required' }, [spend]);
    try {
      const told = await underFaults(registry, ['ledger'], (round) => loseReply(proxy, admin, round));
      registry.close();
      client.disconnect();
      await eventually(() => expect(proxy.connections).toBe(0));
      expectNoLie(told, await readLedgers([server], ['ledger']), resends);
    } finally {
      registry.close();
      for (const each of [client, admin]) each.disconnect();
      await proxy.stop();
      await server.stop();
    }
  });

  it.each([true, false])('on a Cluster, resending %s', async (resends) => {
    const cluster = await startCluster({ replicas: 0 });
    const proxies = await Promise.all(cluster.nodes.map((node) => startFaultProxy(node)));
    const admins = cluster.nodes.map(({ port }) => quiet(new Redis(port)));
    const ledgers = Array.from({ length: 6 }, (_, i) => `{ledger-${i}}`);
    const addresses = proxies.map(({ host, port }) => `${host}:${port}`);
    const client = quiet(
      new Cluster(cluster.startupNodes, {
        slotsRefreshTimeout: 5_000,
        retryDelayOnFailover: 10,
        clusterRetryStrategy: () => 5,
        redisOptions: { autoResendUnfulfilledCommands: resends },
        natMap: Object.fromEntries(
          cluster.nodes.map(({ host, port }, i) => [
            `${host}:${port}`,
            { host, port: (proxies[i] as FaultProxy).port },
          ]),
        ),
      }),
    );
    const registry = await openRegistry(client, { preload: 'required' }, [spend]);
    try {
      const told = await underFaults(registry, ledgers, async (round) => {
        // A slot that seems to be elsewhere: its calls are redirected, and routed by the client.
        const slot = calculateSlot(ledgers[round % ledgers.length] as string);
        client.slots[slot] = [addresses[round % addresses.length] as string];
        const at = (round + 1) % proxies.length;
        await loseReply(proxies[at] as FaultProxy, admins[at] as Redis, round);
      });
      registry.close();
      client.disconnect();
      await eventually(() => expect(proxies.map(({ connections }) => connections)).toEqual([0, 0, 0]));
      expectNoLie(told, await readLedgers(cluster.nodes, ledgers), resends);
    } finally {
      registry.close();
      for (const each of [client, ...admins]) each.disconnect();
      for (const proxy of proxies) await proxy.stop();
      await cluster.stop();
    }
  });
});
