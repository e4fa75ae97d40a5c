import * as fc from 'fast-check';
import type { Redis } from 'ioredis';
import type { TakenEntry } from '../src/consumer/consumer.scripts';
import { Hands } from './hands';
import { openBench, servers, type Bench } from './support';
import { size } from '../../../test/support/size';

const standaloneClient = (servers[0] as (typeof servers)[0])[1] as () => Redis;
const SESSIONS = ['a', 'b', 'c'] as const;
type SessionName = (typeof SESSIONS)[number];

type Step =
  | { readonly do: 'publish'; readonly key: number }
  | { readonly do: 'take'; readonly by: SessionName; readonly count: number; readonly again: boolean }
  | {
      readonly do: 'ack' | 'retry' | 'hand-back' | 'bury';
      readonly by: SessionName;
      readonly which: number;
      readonly late: boolean;
    }
  | { readonly do: 'expire' | 'leave'; readonly by: SessionName }
  | { readonly do: 'repair' };

const by = fc.constantFrom(...SESSIONS);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('publish' as const), key: fc.nat(3) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('take' as const),
      by,
      count: fc.integer({ min: 1, max: 4 }),
      again: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('ack' as const, 'retry' as const, 'hand-back' as const, 'bury' as const),
      by,
      which: fc.nat(5),
      late: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('expire' as const, 'leave' as const), by }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('repair' as const) }) },
);

/** Expected state of a message. */
interface Message {
  readonly key: string;
  state: 'fresh' | 'waiting' | 'held' | 'done' | 'dead';
  attempts: number;
  /** How often it was handed back. With `attempts`, it says which of several takes an entry is from. */
  returned: number;
  owner?: string | undefined;
}

/** The group as it should be, and the group as it is, worked by the same steps. */
class World {
  readonly messages = new Map<string, Message>();
  private readonly held = new Map<string, TakenEntry[]>();
  private readonly generation = new Map<string, number>(SESSIONS.map((name) => [name, 0]));
  private tokens = 0;
  private lastTake: { name: string; token: string; ids: string[] } | undefined;
  private past: { name: string; entry: TakenEntry }[] = [];

  constructor(
    private readonly bench: Bench,
    private readonly hands: Hands,
    private readonly stream: string,
    private readonly ordered: boolean,
  ) {}

  async run(steps: readonly Step[]): Promise<void> {
    await this.hands.open();
    for (const one of steps) {
      await this.step(one);
      await this.check();
    }
    await this.drain();
  }

  private name(session: SessionName): string {
    return `${session}${this.generation.get(session)}`;
  }

  private async step(one: Step): Promise<void> {
    switch (one.do) {
      case 'publish': {
        const key = one.key === 0 ? '' : `k${one.key}`;
        const result = await this.bench.streams.publish(this.stream, this.messages.size, key === '' ? {} : { key });
        if (result.status === 'published')
          this.messages.set(result.id.slice(2), { key, state: 'fresh', attempts: 0, returned: 0 });
        return;
      }
      case 'take':
        return this.take(this.name(one.by), one.count, one.again);
      case 'expire':
        return this.expire(one.by);
      case 'leave':
        return this.leave(one.by);
      case 'repair':
        expect((await this.hands.repair()).repaired).toBe(0);
        await this.hands.tidy();
        return;
      case 'ack':
      case 'retry':
      case 'hand-back':
      case 'bury':
        return this.settle(one.do, this.name(one.by), one.which, one.late);
    }
  }

  private async take(name: string, count: number, again: boolean): Promise<void> {
    const { entries, state } = await this.hands.take(name, `t${this.tokens++}`, count);
    expect(state).toBe('taken');
    expect(entries.length).toBeLessThanOrEqual(count);
    for (const { id, key, attempt } of entries) {
      const message = this.messages.get(id) as Message;
      expect(['fresh', 'waiting']).toContain(message.state);
      expect({ key, attempt }).toEqual({ key: message.key, attempt: message.attempts + 1 });
      if (this.ordered && key !== '') this.expectTurn(id, key);
      Object.assign(message, { state: 'held', owner: name });
    }
    this.held.set(name, [...(this.held.get(name) ?? []), ...entries]);
    // What was put back comes before what is new, and nothing is kept from who asks for more than there is.
    const left = [...this.messages.values()].filter((message) => this.takeable(message));
    if (!this.ordered && entries.length < count) expect(left).toEqual([]);
    const ids = entries.map(({ id }) => id);
    this.lastTake = { name, token: `t${this.tokens - 1}`, ids };
    if (!again) return;
    const replay = await this.hands.take(name, this.lastTake.token, count);
    expect(replay.entries.map(({ id }) => id).sort()).toEqual(
      ids.length > 0 ? [...ids].sort() : replay.entries.map(({ id }) => id).sort(),
    );
    if (ids.length === 0) for (const { id } of replay.entries) expect(this.messages.get(id)?.state).not.toBe('held');
  }

  private takeable({ state, key }: Message): boolean {
    if (state !== 'fresh' && state !== 'waiting') return false;
    return !this.ordered || key === '';
  }

  /** No earlier message of its key may be unsettled. */
  private expectTurn(id: string, key: string): void {
    for (const [other, message] of this.messages) {
      if (other === id) return;
      if (message.key === key) expect([other, message.state]).toEqual([other, expect.stringMatching(/done|dead/)]);
    }
  }

  private async settle(
    how: 'ack' | 'retry' | 'hand-back' | 'bury',
    name: string,
    which: number,
    late: boolean,
  ): Promise<void> {
    const mine = this.held.get(name) ?? [];
    const old = this.past[which % Math.max(1, this.past.length)];
    const target = late && old ? old : mine[which % Math.max(1, mine.length)];
    if (!target) return;
    const entry = 'entry' in target ? target.entry : target;
    const speaker = 'entry' in target ? target.name : name;
    const message = this.messages.get(entry.id) as Message;
    const isLastTake = message.attempts + 1 === entry.attempt && message.returned === entry.returned;
    const holds = message.state === 'held' && message.owner === speaker && isLastTake;
    // A session says once what became of a message. What it says again, as after a lost reply, finds that settled; what
    // one says that was taken over is refused, whatever it is.
    const alive = SESSIONS.some((session) => this.name(session) === speaker);
    const unsettled = message.state === 'held' || message.state === 'waiting';
    if (!holds && alive && unsettled && how !== 'retry') return;
    await this.say(how, speaker, entry);
    if (!holds) return;
    this.held.set(
      speaker,
      (this.held.get(speaker) ?? []).filter(({ id }) => id !== entry.id),
    );
    this.past.push({ name: speaker, entry });
    if (how === 'ack' || how === 'bury') message.state = how === 'ack' ? 'done' : 'dead';
    else
      Object.assign(message, {
        state: 'waiting',
        owner: undefined,
        attempts: entry.attempt - (how === 'retry' ? 0 : 1),
        returned: entry.returned + (how === 'retry' ? 0 : 1),
      });
  }

  private async say(how: 'ack' | 'retry' | 'hand-back' | 'bury', name: string, entry: TakenEntry): Promise<void> {
    if (how === 'ack') await (this.ordered ? this.hands.finish(name, [entry], '') : this.hands.ack(name, [entry]));
    else if (how === 'bury') await this.hands.finish(name, [entry], 'broken');
    else if (how === 'retry') await this.hands.retry(name, entry, 0);
    else await this.hands.retry(name, entry, 0, 0, 'handed back');
  }

  private async expire(session: SessionName): Promise<void> {
    const name = this.name(session);
    await this.hands.expire(name);
    const { session: swept, taken } = await this.hands.sweep();
    const mine = this.held.get(name) ?? [];
    expect([swept, taken]).toEqual([swept === '' ? '' : name, mine.length]);
    this.forget(session, name, mine);
  }

  private async leave(session: SessionName): Promise<void> {
    const name = this.name(session);
    const mine = this.held.get(name) ?? [];
    expect(await this.hands.leave(name)).toBe(mine.length === 0);
    if (mine.length > 0) expect((await this.hands.sweep()).taken).toBe(mine.length);
    this.forget(session, name, mine);
  }

  private forget(session: SessionName, name: string, mine: readonly TakenEntry[]): void {
    for (const entry of mine) {
      Object.assign(this.messages.get(entry.id) as Message, {
        state: 'waiting',
        owner: undefined,
        attempts: entry.attempt,
      });
      this.past.push({ name, entry });
    }
    this.held.delete(name);
    this.generation.set(session, (this.generation.get(session) ?? 0) + 1);
  }

  /** Every message is in one place, and every note is of a message that is there. */
  private async check(): Promise<void> {
    const { raw } = this.bench;
    const { stream, due, tries, heads, dead } = this.hands.keys;
    const unsettled = [...this.messages].filter(([, { state }]) => state !== 'done' && state !== 'dead');
    expect(await this.hands.ids()).toEqual(unsettled.map(([id]) => id));
    const held = new Map(unsettled.filter(([, { state }]) => state === 'held').map(([id, { owner }]) => [id, owner]));
    expect(await this.hands.owners()).toEqual(held);
    const pending = ((await raw.xpending(stream, 'g', '-', '+', 1_000)) as [string, string][]).map(([id]) => id);
    const waits = new Set(await raw.zrangebyscore(due, '-inf', '+inf'));
    const parkedIds = await this.hands.parked();
    for (const id of [...waits, ...parkedIds, ...(await raw.hkeys(tries))]) expect(pending).toContain(id);
    expect(new Set([...held.keys(), ...waits, ...parkedIds])).toEqual(new Set(pending));
    expect(held.size + waits.size + parkedIds.length).toBe(pending.length);
    for (const id of await raw.hvals(heads)) expect(pending).toContain(id);
    expect(await raw.xlen(dead)).toBe([...this.messages.values()].filter(({ state }) => state === 'dead').length);
  }

  /** Everything has a way to end, and nothing is left of it. */
  private async drain(): Promise<void> {
    for (const session of SESSIONS) await this.leave(session);
    for (;;) {
      const name = this.name('a');
      await this.take(name, 4, false);
      const mine = this.held.get(name) ?? [];
      if (mine.length === 0) break;
      for (let i = mine.length; i > 0; i--) await this.settle('ack', name, 0, false);
    }
    await this.leave('a');
    expect([...this.messages.values()].filter(({ state }) => state !== 'done' && state !== 'dead')).toEqual([]);
    const { sessions, takes, due, tries, heads, stream } = this.hands.keys;
    for (const key of [sessions, takes, due, tries, heads])
      expect([key, await this.bench.raw.exists(key)]).toEqual([key, 0]);
    expect(await this.bench.raw.call('XINFO', 'CONSUMERS', stream, 'g')).toEqual(
      // Nobody's entries wait under this name any more.
      expect.not.arrayContaining([expect.arrayContaining([expect.stringMatching(/^([abc]\d|parked )/)])]),
    );
  }
}

/** A retry of the first attempt reaches Redis after its entry was handed back and taken again. */
const repeatedRetry: Step[] = [
  { do: 'publish', key: 0 },
  { do: 'take', by: 'b', count: 1, again: false },
  { do: 'hand-back', by: 'b', which: 0, late: false },
  { do: 'take', by: 'b', count: 1, again: false },
  { do: 'retry', by: 'a', which: 0, late: true },
];

describe('a group, compared with a model after each step', () => {
  let bench: Bench;
  let worlds = 0;
  beforeAll(async () => {
    bench = await openBench(standaloneClient());
  });
  afterAll(() => bench.close());

  it.each([false, true])(
    'ordered %s: each message is in one place, and comes to an end',
    async (ordered) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
          const stream = `w${(worlds += 1)}`;
          await new World(bench, new Hands(bench, stream, 'g', ordered), stream, ordered).run(steps);
        }),
        { numRuns: size(10, 80), examples: [[repeatedRetry]] },
      );
    },
    180_000,
  );
});
