import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { Fleet } from './support/rolling/fleet';
import { COUNTER, LIMIT, NOTES, RULES, TICKS, type Kind, type Note, type Tick } from './support/rolling/protocol';
import { makeVersions, type Versions } from './support/rolling/versions';
import { eventually } from './support/wait';

/**
 * Two versions of luanest on one Redis: the build, and one with another version and another text of each script. All pods are
 * replaced by the other version, and then back, while they work.
 */
let versions: Versions;
let redis: RedisServer;
let client: Redis;
let fleet: Fleet;

beforeAll(() => (versions = makeVersions()));
afterAll(() => versions.remove());

const KEYS = 7;
const PODS = 3;

const notes = async (): Promise<Note[]> =>
  (await client.lrange(NOTES, 0, -1)).map((entry) => JSON.parse(entry) as Note);
const ticks = async (): Promise<Tick[]> =>
  (await client.lrange(TICKS, 0, -1)).map((entry) => JSON.parse(entry) as Tick);

/** Ids of all orders that were accepted. */
interface Accepted {
  readonly tasks: string[];
  readonly messages: string[];
  /** Results of all calls for an id. */
  readonly once: Map<string, unknown[]>;
  readonly locks: string[];
  /** By the name of the rule: calls that were allowed, and those whose reply nobody got. */
  readonly allowed: Map<string, number>;
  readonly unknown: Map<string, number>;
}

/** Sends orders to the fleet, one round after the other, until `stop` is called. */
function load(): { readonly accepted: Accepted; readonly rounds: () => number; readonly stop: () => Promise<void> } {
  const accepted: Accepted = {
    tasks: [],
    messages: [],
    once: new Map(),
    locks: [],
    allowed: new Map(),
    unknown: new Map(),
  };
  const add = (counts: Map<string, number>, rule: string): void => void counts.set(rule, (counts.get(rule) ?? 0) + 1);
  let [round, stopped] = [0, false];

  const once = async (id: string): Promise<void> => {
    const result = await eventually(async () => {
      const reply = (await fleet.ask({ do: 'once', id })) as { status: string; result?: unknown };
      if (reply.status === 'in-progress') throw new Error('in progress');
      return reply.result;
    });
    accepted.once.set(id, [...(accepted.once.get(id) ?? []), result]);
  };
  const limit = async (rule: string): Promise<void> => {
    const allowed = await fleet.askOnce({ do: 'limit', rule }).catch((error: Error) => {
      // A pod that closes has counted nothing.
      if (!error.message.endsWith('closing')) add(accepted.unknown, rule);
    });
    if (allowed === true) add(accepted.allowed, rule);
  };
  const work = async (): Promise<void> => {
    while (!stopped) {
      round++;
      const id = String(round);
      await Promise.all([
        fleet
          .ask({ do: 'schedule', id: `t${id}`, delayMs: Math.floor(3_000 * Math.random()) })
          .then(() => accepted.tasks.push(`t${id}`)),
        once(`o${id}`),
        once(`o${id}`),
        fleet.ask({ do: 'lock', id: `l${id}` }).then(() => accepted.locks.push(`l${id}`)),
        ...RULES.map(limit),
      ]);
    }
  };
  // One publisher for each key, so that the order of its messages is known.
  const publish = async (key: number): Promise<void> => {
    for (let n = 0; !stopped; n++) {
      const id = `m${key}-${n}`;
      await fleet.ask({ do: 'publish', id, key: `key-${key}` });
      accepted.messages.push(id);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const done = Promise.all([work(), work(), ...Array.from({ length: KEYS }, (_, key) => publish(key))]);
  done.catch(() => undefined);
  return {
    accepted,
    rounds: () => round,
    stop: async () => {
      stopped = true;
      await done;
    },
  };
}

/** Replaces each pod: the new one works before the old one ends, and some work is done in between. */
async function deploy(version: 'old' | 'new', signal: NodeJS.Signals, rounds: () => number): Promise<void> {
  for (let pod = 0; pod < PODS; pod++) {
    await fleet.add(version, versions[version]);
    const [before, slots] = [rounds(), new Set((await ticks()).map(({ slot }) => slot)).size];
    await eventually(async () => {
      expect(rounds()).toBeGreaterThan(before + 10);
      expect(new Set((await ticks()).map(({ slot }) => slot)).size).toBeGreaterThan(slots);
    });
    await fleet.endOldest(signal);
  }
}

/** Begins, by id, in the order of Redis. */
function beginsOf(all: readonly Note[], kind: Kind): Map<string, Note[]> {
  const begins = new Map<string, Note[]>();
  for (const note of all.filter((one) => one.kind === kind && one.what === 'begin')) {
    begins.set(note.id, [...(begins.get(note.id) ?? []), note]);
  }
  return begins;
}
const endsOf = (all: readonly Note[], kind: Kind): string[] =>
  all.filter((note) => note.kind === kind && note.what === 'end').map(({ id }) => id);

/** Work that began again, although the pod of an earlier begin was not killed. */
function twice(all: readonly Note[], kind: Kind): Note[][] {
  return [...beginsOf(all, kind).values()].filter((begins) =>
    begins.slice(0, -1).some(({ pod }) => !fleet.killed.has(pod)),
  );
}

/** Works through a deploy and its rollback, and waits until all that was accepted is done. */
async function rollThrough(signal: NodeJS.Signals): Promise<{ all: Note[]; accepted: Accepted }> {
  for (let pod = 0; pod < PODS; pod++) await fleet.add('old', versions.old);
  const { accepted, rounds, stop } = load();
  try {
    await deploy('new', signal, rounds);
    // While both versions run, chance decides which one runs a tick. Now all pods are new, so the next tick is one of theirs.
    await eventually(async () => expect((await ticks()).some(({ pod }) => pod.startsWith('new'))).toBe(true));
    await deploy('old', signal, rounds);
  } finally {
    await stop();
  }
  // Leases of killed pods end first.
  await eventually(
    async () => {
      const all = await notes();
      for (const [kind, ids] of [
        ['task', accepted.tasks],
        ['message', accepted.messages],
      ] as const) {
        const done = new Set(endsOf(all, kind));
        expect(ids.filter((id) => !done.has(id))).toEqual([]);
      }
    },
    { timeoutMs: 60_000, everyMs: 200 },
  );
  await fleet.endAll();
  return { all: await notes(), accepted };
}

it('has other texts of all scripts in the other version', () => {
  const scripts = versions.scripts();
  expect(scripts.length).toBeGreaterThan(50);
  for (const { old, new: now } of scripts) expect(old).not.toBe(now);
});

describe.each(['SIGTERM', 'SIGKILL'] as const)('a deploy and its rollback, with %s', (signal) => {
  beforeAll(async () => {
    redis = await startRedis();
    client = new Redis(redis.port, redis.host);
    // Without kills no lease may end, however busy the machine is.
    fleet = new Fleet(redis.url, signal === 'SIGKILL' ? 6_000 : 60_000);
  });
  afterAll(async () => {
    await fleet.endAll();
    client.disconnect();
    await redis.stop();
  });

  it('loses nothing, and repeats nothing but what a killed pod had begun', async () => {
    const { all, accepted } = await rollThrough(signal);
    const kinds: Kind[] = ['task', 'message', 'once', 'lock', 'tick'];

    // Both versions did work of each kind.
    for (const kind of kinds) {
      const pods = new Set(all.filter((note) => note.kind === kind).map(({ pod }) => pod.split('-')[0]));
      expect([kind, [...pods].sort()]).toEqual([kind, ['new', 'old']]);
    }
    if (signal === 'SIGTERM') {
      expect(fleet.failures).toEqual([]);
      expect(all.filter(({ attempt = 1 }) => attempt !== 1)).toEqual([]);
    }
    for (const kind of kinds) expect([kind, twice(all, kind)]).toEqual([kind, []]);

    expectOrder(all);
    expectOnce(all, accepted);
    await expectLocks(all, accepted);
    await expectTicks(all, signal);
    for (const rule of RULES) {
      const [allowed, unknown] = [accepted.allowed.get(rule) ?? 0, accepted.unknown.get(rule) ?? 0];
      if (signal === 'SIGTERM') expect([rule, allowed, unknown]).toEqual([rule, LIMIT, 0]);
      expect(allowed).toBeLessThanOrEqual(LIMIT);
      expect(allowed + unknown).toBeGreaterThanOrEqual(LIMIT);
    }
  });
});

/** The messages of a key end in the order in which they were published. */
function expectOrder(all: readonly Note[]): void {
  for (let key = 0; key < KEYS; key++) {
    const ends = [...new Set(endsOf(all, 'message').filter((id) => id.startsWith(`m${key}-`)))];
    expect(ends).toEqual(ends.map((_, n) => `m${key}-${n}`));
  }
}

/** All calls for an id got the result of the run that ended. */
function expectOnce(all: readonly Note[], { once }: Accepted): void {
  const ranIn = new Map(
    all.filter(({ kind, what }) => kind === 'once' && what === 'end').map(({ id, pod }) => [id, pod]),
  );
  for (const [id, results] of once) expect([id, results]).toEqual([id, [ranIn.get(id), ranIn.get(id)]]);
}

/** One holder at a time, with fences that rise, and no lost update of the counter. */
async function expectLocks(all: readonly Note[], { locks }: Accepted): Promise<void> {
  const sections = all.filter(({ kind }) => kind === 'lock');
  let [holder, fence]: [Note | undefined, number] = [undefined, 0];
  for (const note of sections) {
    if (note.what === 'begin') {
      if (holder !== undefined) expect(fleet.killed).toContain(holder.pod);
      expect(note.fence).toBeGreaterThan(fence);
      [holder, fence] = [note, note.fence as number];
    } else {
      expect([note.id, note.fence]).toEqual([holder?.id, fence]);
      holder = undefined;
    }
  }
  const ends = endsOf(all, 'lock');
  expect(Number(await client.get(COUNTER))).toBe(ends.length);
  expect(ends).toEqual(expect.arrayContaining(locks));
}

/** Each tick that any pod saw ran, unless a killed pod had the lock. */
async function expectTicks(all: readonly Note[], signal: NodeJS.Signals): Promise<void> {
  const began = beginsOf(all, 'tick');
  const ended = new Set(endsOf(all, 'tick'));
  const slots = new Set((await ticks()).filter(({ slot }) => slot > 0).map(({ slot }) => String(slot)));
  expect(slots.size).toBeGreaterThan(5);
  if (signal === 'SIGTERM') expect([...slots].filter((slot) => !ended.has(slot))).toEqual([]);
  const unfinished = [...began].filter(([slot]) => !ended.has(slot));
  for (const [, begins] of unfinished) expect(fleet.killed).toContain(begins[0]?.pod);
}
