import { setImmediate as turn } from 'node:timers/promises';
import type { RedPacketService } from 'luanest/red-packet';
import { size } from '../../../test/support/size';
import { standaloneClient } from '../../script-registry/test/support';
import type { Lifecycle } from '../src/activity/lifecycle';
import { figures, openBench, type Bench } from './support';

type Work = (packets: RedPacketService, activityId: string) => Promise<unknown>;

/** A process whose calls of scripts wait until the test lets them go, one by one. */
class Actor {
  private readonly packets: RedPacketService;
  private readonly waiting: (() => Promise<unknown>)[] = [];
  private work: Promise<unknown> | undefined;

  constructor(bench: Bench) {
    const run = bench.registry.run.bind(bench.registry);
    jest.spyOn(bench.registry, 'run').mockImplementation((...call) => {
      return new Promise((resolve, reject) => {
        this.waiting.push(async () => run(...call).then(resolve, reject));
      });
    });
    this.packets = bench.packets;
  }

  start(work: Work, activityId: string): void {
    this.work = work(this.packets, activityId).catch(String);
  }

  /** Makes the given number of calls, or as many as there are. Returns how many it has made. */
  async step(calls = Infinity): Promise<number> {
    for (let made = 0; ; made++) {
      // What follows a reply takes some turns of the event loop until it makes the next call.
      for (let i = 0; i < 3; i++) await turn();
      const call = made < calls ? this.waiting.shift() : undefined;
      if (call === undefined) return made;
      await call();
    }
  }

  /** Returns the result of the work, or the error as text. */
  end(): Promise<unknown> | undefined {
    return this.work;
  }
}

const create: Work = (packets, id) => packets.create({ ...figures(id, 4), buckets: 2, split: 'equal' });
const OPERATIONS = {
  create,
  close: (packets, id) => packets.close(id),
  'close at its end': async (packets, id) => {
    const { lifecycle } = packets as unknown as { lifecycle: Lifecycle };
    const done = await lifecycle.closeAtEnd(id);
    return typeof done === 'object' ? done.closed : done;
  },
  pause: (packets, id) => packets.pause(id),
  grab: (packets, id) => packets.grab(id, 'ann'),
  settle: (packets, id) => packets.settle(id),
  forget: (packets, id) => packets.forget(id),
} satisfies Record<string, Work>;

describe('two processes that do one thing each with one activity', () => {
  let benches: Bench[] = [];
  let observer: RedPacketService;
  let one: Actor;
  let other: Actor;
  let activities = 0;
  beforeAll(async () => {
    const bench = await openBench(standaloneClient());
    const rest = [0, 1].map(() => openBench(standaloneClient(), { prefix: bench.prefix }));
    benches = [bench, ...(await Promise.all(rest))];
    observer = bench.packets;
    [one, other] = benches.slice(1).map((each) => new Actor(each)) as [Actor, Actor];
  });
  afterAll(() => benches.forEach((bench) => bench.close()));

  /** One process makes `before` calls, the other one `calls`, the one `between`; then the other one ends, then the one. */
  async function run(works: readonly [Work, Work], isOpen: boolean, before: number, calls = Infinity, between = 0) {
    const id = `activity-${activities++}`;
    if (isOpen) await create(observer, id);
    one.start(works[0], id);
    let oneMade = await one.step(before);
    other.start(works[1], id);
    let otherMade = await other.step(calls);
    oneMade += await one.step(between);
    otherMade += await other.step();
    oneMade += await one.step();
    const { state, remainingPackets, grantedPackets, refundedPackets, settled } = (await observer.status(id)) ?? {};
    const { problems } = (await observer.audit(id, { deep: true })) ?? {};
    const left = { state, remainingPackets, grantedPackets, refundedPackets, settled, problems };
    const status = JSON.stringify([await one.end(), await other.end(), left], (key, value: unknown) =>
      key === 'activityId' || key.endsWith('AtMs') ? undefined : value,
    );
    return { status: status.replaceAll(id, 'the activity'), oneMade, otherMade };
  }

  it.each<[boolean, keyof typeof OPERATIONS, keyof typeof OPERATIONS]>([
    [false, 'create', 'close'],
    [false, 'create', 'close at its end'],
    [false, 'create', 'pause'],
    [false, 'create', 'grab'],
    [false, 'create', 'settle'],
    [false, 'create', 'create'],
    [true, 'close', 'close'],
    [true, 'close', 'pause'],
    [true, 'close', 'grab'],
    [true, 'close', 'settle'],
    [true, 'close', 'forget'],
  ])('end as if one of them had stood still (open: %s; %s, %s)', async (isOpen, first, second) => {
    const works = [OPERATIONS[first], OPERATIONS[second]] as const;
    const allowed = new Set<string>();
    let [length, most] = [0, 0];
    for (let before = 0; before <= length; before++) {
      const { status, oneMade, otherMade } = await run(works, isOpen, before);
      [length, most] = [Math.max(length, oneMade), Math.max(most, otherMade)];
      allowed.add(status);
    }
    const wrong = new Map<string, string>();
    let orders = 0;
    for (let before = 0; before < length; before++) {
      for (let between = 1; before + between <= length; between++) {
        for (let calls = 1; calls < most; calls++) {
          if (orders++ % size(120, 1) > 0) continue;
          const { status } = await run(works, isOpen, before, calls, between);
          if (!allowed.has(status)) wrong.set(status, `calls: ${before}, ${calls}, ${between}, and the rest`);
        }
      }
    }
    expect([...wrong]).toEqual([]);
    expect(orders).toBeGreaterThan(0);
  });
});
