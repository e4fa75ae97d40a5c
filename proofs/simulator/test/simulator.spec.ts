import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { planOf, type Element, type Plan } from '../engine/plan';
import { Random } from '../engine/random';
import { RedisHost } from '../engine/redis-host';
import { nameOfScript, Replays } from '../engine/replays';
import { Scheduler } from '../engine/scheduler';
import { libs } from '../libs';
import { MemoryRedis } from '../../../libs/memory-redis/src';
import type { Reply } from '../../../libs/memory-redis/src/reply';
import { shrunk } from '../shrink';
import { LONG } from '../../../test/support/size';

const ENTRY = join(__dirname, '..', '..', '..', 'test', 'support', 'worker-entry.cjs');
const MAIN = join(__dirname, '..', 'main.ts');

function simulate(...args: string[]): { status: number | null; lines: string[] } {
  const { status, stdout, stderr } = spawnSync('node', [ENTRY, MAIN, ...args], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (stderr !== '') throw new Error(stderr);
  return { status, lines: stdout.trim().split('\n') };
}

describe('npm run simulate', () => {
  let folder: string;
  beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'luanest-simulator-'))));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('repeats a run to the byte in another process', () => {
    // At full size of all libs.
    const libs = LONG ? [] : ['delayed-task', 'red-packet'].flatMap((name) => ['--lib', name]);
    const [one, other] = [simulate(...libs, '--seed', '7', '--trace'), simulate(...libs, '--seed', '7', '--trace')];
    expect(one.lines.length).toBeGreaterThan(1_000);
    expect(other).toEqual(one);
  });

  it('finds a defect, and prints the shortest run that shows it', () => {
    const file = 'libs/lock/src/locks/held-lock.ts';
    const defect = join(folder, 'defect.json');
    writeFileSync(defect, JSON.stringify([[file, 'this.releasing ??= this.end();', 'this.releasing = this.end();']]));
    const { status, lines } = simulate('--lib', 'lock', '--seed', '3', '--defect', defect);
    expect(status).toBe(1);
    expect(lines.filter((line) => line.includes('VIOLATION'))).toHaveLength(1);
    // A holder, and a waiter who takes the lock between the two releases.
    expect(lines.filter((line) => line.includes('| begins'))).toHaveLength(2);
    expect(JSON.parse(lines.at(-1) as string)).toMatchObject({ violation: 'release returned released, then lost' });
  });

  it('finds an owner who goes on after its lease has ended in Redis, also if nobody else wants the key', () => {
    const file = 'libs/internal/src/lease-book.ts';
    const defect = join(folder, 'reply.json');
    const counted = ['else lease.restarted(sentAt);', 'else lease.restarted(time.monotonicMs());'];
    writeFileSync(defect, JSON.stringify([[file, ...counted]]));
    const run = ['--lib', 'once', '--seed', '47152273', '--variant', '120'];
    const { status, lines } = simulate(...run, '--defect', defect);
    expect(status).toBe(1);
    expect(JSON.parse(lines.at(-1) as string)).toMatchObject({
      violation: expect.stringMatching(/^the lease of p\d of i\d has ended, but it goes on$/),
    });
    expect(simulate(...run).status).toBe(0);
  });

  it('finds packets that are lost after a failover, also if the activity has several buckets', () => {
    const file = 'libs/red-packet/src/scripts/send-packets.lua';
    const defect = join(folder, 'sequence.json');
    const numbers = ['math.max(now_us, (marks[2] or 0) + 1)', '(marks[2] or 0) + 1'];
    writeFileSync(defect, JSON.stringify([[file, ...numbers]]));
    const run = ['--lib', 'red-packet-moves', '--seed', '24153228'];
    const { status, lines } = simulate(...run, '--defect', defect);
    expect(status).toBe(1);
    expect(JSON.parse(lines.at(-1) as string)).toMatchObject({ violation: 'Redis has 58 of 73 packets' });
    expect(simulate(...run).status).toBe(0);
  });

  it('tries all orders of the scripts of a small run with at most two late messages', () => {
    const { status, lines } = simulate('--lib', 'read-reward', '--seed', '3', '--orders');
    expect(status).toBe(0);
    const { runs, orders, complete, violation } = JSON.parse(lines.at(-1) as string) as Record<string, number>;
    expect([complete, violation]).toEqual([2, undefined]);
    // Each request and each reply of two processes that have a key in common.
    expect(orders).toBeGreaterThan(3);
    expect(runs).toBeGreaterThan(orders as number);
  });

  it('refuses a defect whose text is not in the file', () => {
    const defect = join(folder, 'missing.json');
    writeFileSync(defect, JSON.stringify([['libs/lock/src/lock.module.ts', 'not there', '']]));
    expect(() => simulate('--lib', 'lock', '--seed', '2', '--defect', defect)).toThrow('does not have this text once');
  });

  it('runs the corpus, whose seeds still have the faults that they were kept for', () => {
    const { status, lines } = simulate('--corpus');
    expect(lines.filter((line) => line.includes('"violation"') || !line.includes('"lacks":[]'))).toEqual([]);
    expect(status).toBe(0);
  });

  it('counts the steps of a campaign, which boots each lib', () => {
    const { status, lines } = simulate('--runs', String(libs.length), '--seconds', '600', '--seed', '1', '--json');
    expect(status).toBe(0);
    expect(JSON.parse(lines.at(-1) as string)).toMatchObject({ runs: libs.length, violations: 0, undecided: 0 });
  });
});

const planner = {
  name: 'test',
  faults: { kill: 5, cut: 5, flush: 5 },
  together: [['cut', 'kill'] as const],
  settings: () => ({}),
  operation: (random: Random) => random.integer(1, 9),
  scaleMs: () => 100,
};

describe('planOf', () => {
  it('draws the same plan from the same seed, and another one from another', () => {
    expect(planOf(planner, 3)).toEqual(planOf(planner, 3));
    expect(planOf(planner, 3)).not.toEqual(planOf(planner, 4));
  });

  it('leaves out faults, and nothing else', () => {
    const seed = Array.from({ length: 100 }, (_, index) => index).find((one) => kinds(planOf(planner, one)).has('cut'));
    const [all, without] = [planOf(planner, seed as number), planOf(planner, seed as number, new Set(['cut']))];
    const isCut = (element: Element): boolean => 'fault' in element && element.fault.kind === 'cut';
    expect(without.elements).toEqual(all.elements.filter((element) => !isCut(element)));
  });
});

function kinds({ elements }: Plan): Set<string> {
  return new Set(elements.flatMap((element) => ('fault' in element ? [element.fault.kind] : [])));
}

describe('shrunk', () => {
  it('keeps only the elements without which the violation does not happen', () => {
    const plan = planOf(planner, 5);
    const [one, other] = [plan.elements[1], plan.elements.at(-2)] as [Element, Element];
    const violationOf = ({ elements }: Plan): string | undefined => {
      if (!elements.includes(one)) return undefined;
      return elements.includes(other) ? `two owners of n${elements.length}` : 'another violation';
    };
    expect(shrunk(plan, 'two owners of n99', violationOf).elements).toEqual([one, other]);
  });
});

describe('Scheduler', () => {
  it('runs events by their time, and those of one time in an order of the seed', () => {
    const orderOf = (seed: number): string => {
      const scheduler = new Scheduler(new Random(seed));
      let ran = '';
      for (const [at, name] of [
        [5, 'd'],
        [1, 'a'],
        [1, 'b'],
        [1, 'c'],
      ] as const) {
        scheduler.at(at, () => (ran += name));
      }
      scheduler.run(10, 100);
      return ran;
    };
    const orders = Array.from({ length: 40 }, (_, seed) => orderOf(seed));
    expect(new Set(orders.map((order) => order.at(-1)))).toEqual(new Set(['d']));
    expect(new Set(orders).size).toBe(6);
    expect(orderOf(1)).toBe(orderOf(1));
  });
});

describe('Replays', () => {
  const scriptOf = (name: string, code: string): string =>
    `#!lua\n--[[\n${name}: a script.\n\nO(1). TTL: none. Clock: none. Replay: returns 0 and\nchanges nothing.\n]]\n${code}`;

  it('reports a call that changes something when Redis runs it again, if the header denies that', () => {
    const { server } = new MemoryRedis();
    const session = server.open(
      () => undefined,
      () => undefined,
    );
    const changed: string[] = [];
    const replays = new Replays(server.db, (name) => changed.push(name));
    const run = (...words: string[]): Reply => {
      const watched = replays.watch(words);
      const reply = server.execute(session, words);
      watched(reply);
      return reply;
    };
    const again = run('SCRIPT', 'LOAD', scriptOf('retry', "return redis.call('INCR', KEYS[1])")) as string;
    const once = run('SCRIPT', 'LOAD', scriptOf('cancel', "return redis.call('SET', KEYS[1], ARGV[1])")) as string;
    const other = run('SCRIPT', 'LOAD', scriptOf('count', "return redis.call('INCR', KEYS[1])")) as string;
    expect([nameOfScript(again), nameOfScript(once), nameOfScript('none')]).toEqual(['retry', 'cancel', undefined]);
    for (const [sha, key] of [[again, 'a'] as const, [once, 'b'] as const, [other, 'c'] as const]) {
      for (const token of ['x', 'y', 'y']) run('EVALSHA', sha, '1', key, token);
    }
    expect(changed).toEqual(['retry']);
  });
});

describe('RedisHost', () => {
  it('knows when something ends by what Redis has stored', () => {
    const scheduler = new Scheduler(new Random(1));
    const redis = new RedisHost(scheduler, new Random(2), 1);
    const ms = (offset: number): string => String(1_800_000_000_000 + offset);
    redis.memory.run('SET', ['lock', `${ms(40)}1${ms(2)}345 owner`]);
    redis.memory.run('ZADD', ['leased', ms(70), 't1', ms(30_000), 't2']);
    redis.memory.run('HSET', ['queue', 'p1', `${ms(1)}123${ms(60)}`]);
    expect(redis.endsAfter(0)).toEqual([1_000, 40_000, 60_000, 70_000]);
    expect(redis.endsAfter(40_000)).toEqual([60_000, 70_000]);
  });
});
