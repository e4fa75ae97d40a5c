import { slotOf } from '../../../libs/internal/src';
import type { Reply } from '../../../libs/memory-redis/src/reply';
import { Random } from '../engine/random';
import { RedisHost } from '../engine/redis-host';
import type { RedisNode } from '../engine/redis-node';
import { Scheduler } from '../engine/scheduler';
import type { Slots } from '../engine/slots';

const SCRIPT = `for _, key in ipairs(KEYS) do redis.call('SET', key, ARGV[1]) end return #KEYS`;
const [ONE, TWO] = ['{tag}:1', '{tag}:2'];
const SLOT = slotOf(ONE);

/** A Cluster of three masters, of which `owner` has the slot of the keys, and `other` gets it. */
function start() {
  const scheduler = new Scheduler(new Random(1));
  const redis = new RedisHost(scheduler, new Random(2), 3);
  const slots = redis.slots as Slots;
  const at = Math.floor((SLOT * 3) / 16_384);
  const to = (at + 1) % 3;
  const [owner, other] = [redis.master(at), redis.master(to)];
  const pushed: unknown[] = [];
  const sessions = new Map(
    redis.nodes.map((node) => {
      const noop = (): void => undefined;
      return [node, node.open((reply) => pushed.push(reply), noop, noop)];
    }),
  );
  const send = (node: RedisNode, ...words: string[]): Reply => node.execute(sessions.get(node) as never, words, 'p1');
  const set = (node: RedisNode, value: string, ...keys: string[]): unknown => {
    const reply = send(node, 'EVAL', SCRIPT, String(keys.length), ...keys, value);
    return reply instanceof Error ? reply.message : reply;
  };
  return { scheduler, redis, slots, at, to, owner, other, pushed, send, set };
}

describe('a simulated Cluster', () => {
  it('runs a script only on the master of its slot', () => {
    const { redis, owner, set } = start();
    for (const node of redis.nodes) {
      expect(set(node, 'x', ONE, TWO)).toBe(node === owner ? 2 : `MOVED ${SLOT} 127.0.0.1:${owner.port}`);
    }
    expect(set(owner, 'x', ONE, 'other')).toMatch(/^CROSSSLOT/);
  });

  it('moves a slot key by key', () => {
    const { scheduler, redis, slots, to, owner, other, set, send, pushed } = start();
    set(owner, 'x', ONE, TWO);
    send(owner, 'HELLO', '3');
    send(owner, 'SSUBSCRIBE', ONE);
    expect(slots.move(SLOT, to, 100)).toBe(true);
    const [ask, moved] = [
      `ASK ${SLOT} 127.0.0.1:${other.port}`,
      (node: RedisNode) => `MOVED ${SLOT} 127.0.0.1:${node.port}`,
    ];
    // Both keys are there still, and a third one never was.
    expect([set(owner, 'x', ONE, TWO), set(owner, 'x', '{tag}:3')]).toEqual([2, ask]);
    scheduler.run(60_000, 1_000);
    expect([set(owner, 'x', ONE), set(owner, 'x', TWO), set(owner, 'x', ONE, TWO)]).toEqual([
      ask,
      1,
      'TRYAGAIN Multiple keys request during rehashing of slot',
    ]);
    expect(set(other, 'x', ONE)).toBe(moved(owner));
    send(other, 'ASKING');
    expect([set(other, 'y', ONE), set(other, 'y', ONE)]).toEqual([1, moved(owner)]);
    expect(pushed).toHaveLength(1);
    scheduler.run(200_000, 1_000);
    expect([set(owner, 'x', ONE), set(other, 'z', ONE, TWO)]).toEqual([moved(other), 2]);
    expect(pushed[1]).toMatchObject({ items: ['sunsubscribe', ONE, 0] });
    const rows = send(owner, 'CLUSTER', 'SLOTS') as [number, number, [string, number]][];
    const row = rows.find(([from, until]) => from <= SLOT && SLOT <= until);
    expect(row?.[2]?.[1]).toBe(other.port);
    expect(rows.reduce((sum, [from, until]) => sum + until - from + 1, 0)).toBe(16_384);
    expect(redis.memory.run('GET', [ONE])).toBe('z');
  });

  it('promotes the replica of a master, which has the keys of before', () => {
    const { redis, slots, at, to, owner, other, set } = start();
    const foreign = Array.from({ length: 1_000 }, (_, n) => `k${n}`).find((key) => slots.shardOfKey(key) === to);
    set(owner, 'old', ONE);
    const kept = redis.memory.snapshot();
    set(owner, 'new', ONE);
    set(other, 'new', foreign as string);
    redis.failOver(at, kept, false)();
    expect([redis.memory.run('GET', [ONE]), redis.memory.run('GET', [foreign as string])]).toEqual(['old', 'new']);
    expect(redis.master(at).port).toBe(owner.port + 100);
    expect(set(owner, 'x', ONE)).toBe(`MOVED ${SLOT} 127.0.0.1:${owner.port + 100}`);
  });

  it('is down when one of its masters is down for long', () => {
    const { scheduler, owner, other, set } = start();
    other.downSinceUs = 0;
    expect(set(owner, 'x', ONE)).toBe(1);
    scheduler.run(500_000, 1);
    expect(set(owner, 'x', ONE)).toBe('CLUSTERDOWN The cluster is down');
  });
});
