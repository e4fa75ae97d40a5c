import { claimOnce, peekOnce, type StoredPeek } from '../../../libs/once/src/once.scripts';
import { releaseLock } from '../../../libs/lock/src/lock.scripts';
import { grabPacket } from '../../../libs/red-packet/src/grabs/grab.scripts';
import { takeTasks } from '../../../libs/delayed-task/src/worker/worker.scripts';
import { consumeFixedWindow } from '../../../libs/rate-limit/src/rate-limit.scripts';
import { defineScript, type ScriptDefinition } from 'luanest/script-registry';
import { variant } from './variant';
import { linesOf } from '../check-history';
import type { Seed } from '../record/connection';
import { grab } from '../subjects/grab';
import { limiter } from '../subjects/limiter';
import { lock } from '../subjects/lock';
import { once } from '../subjects/once';
import { tasks } from '../subjects/tasks';
import { play, type StageSettings } from './stage';

// Defects that are only in these tests. The checker must find each.

/** Records until the defect shows, which is a matter of chance, and returns the events of a shortest prefix. */
async function shortest(settings: Omit<StageSettings, 'histories'>): Promise<string[]> {
  for (let round = 0; round < 8; round++) {
    const found = (await play({ ...settings, histories: 8 })).flatMap(({ verdict }) =>
      verdict.result === 'not linearizable' ? [linesOf(verdict.prefix)] : [],
    );
    const [first] = found.sort((a, b) => a.length - b.length);
    if (first !== undefined) return first;
  }
  throw new Error('The defect was not found.');
}

/** Replaces scripts by others of the same names. */
function replaced(...scripts: readonly ScriptDefinition[]): Seed[] {
  return scripts.map((script) => ({
    script: script.name,
    scripts: [script],
    run: (run, input, options) => run(script, input, options),
  }));
}

describe('the checker finds seeded defects', () => {
  it('a release of a lock that does not check the owner', async () => {
    const seeds = replaced(variant(releaseLock, ['if not mine then', 'if false then']));
    const lines = await shortest({ subject: lock, flavours: ['try'], seeds });
    expect(lines.at(-1)).toContain('returns');
  }, 60_000);

  it('a limiter that reads and writes in two calls', async () => {
    const count = defineScript({
      name: 'test.count',
      keys: ['counter'],
      args: {},
      source: `return { tonumber(redis.call('GET', KEYS[1])) or 0, redis.call('PTTL', KEYS[1]) }`,
      reply: (raw: [used: number, leftMs: number]) => raw,
    });
    const seed: Seed = {
      script: consumeFixedWindow.name,
      scripts: [count],
      run: async (run, input, options) => {
        const { keys, args } = input as { keys: object; args: { limit: number; cost: number } };
        const [used, leftMs] = (await run(count, { keys, args: {} }, options)) as [number, number];
        if (used + args.cost > args.limit) return [used, leftMs];
        return run(consumeFixedWindow, { keys, args: { ...args, limit: 1_000 } }, options);
      },
    };
    const lines = await shortest({ subject: limiter, flavours: ['long'], seeds: [seed] });
    expect(lines.at(-1)).toContain('"used":');
  }, 60_000);

  it('a claim of an id that reads and writes in two calls', async () => {
    const { name, ...blind } = variant(claimOnce, [
      `local text = redis.call('SET', KEYS[1], head .. ARGV[1] .. ARGV[5], 'NX', 'GET', 'PX', ttl)`,
      `local text redis.call('SET', KEYS[1], head .. ARGV[1] .. ARGV[5], 'PX', ttl)`,
    ]);
    const blindly = defineScript({ ...blind, name: `${name}-blindly` } as never) as ScriptDefinition;
    const seed: Seed = {
      script: claimOnce.name,
      scripts: [blindly],
      run: async (run, input, options) => {
        const { keys } = input as { keys: object };
        const { status } = (await run(peekOnce, { keys, args: {} }, options)) as StoredPeek;
        return run(status === 'unknown' ? blindly : claimOnce, input, options);
      },
    };
    const lines = await shortest({ subject: once, flavours: ['long'], seeds: [seed] });
    expect(lines.at(-1)).toContain('"status":');
  }, 60_000);

  it('a grab that forgets the user', async () => {
    const forgets = [
      variant(
        grabPacket,
        ["local mine = redis.call('HGET', KEYS[3], ARGV[1])", 'local mine = nil'],
        ['if grants[1] then', 'if false then'],
      ),
    ];
    const lines = await shortest({ subject: grab, flavours: ['open'], seeds: replaced(...forgets) });
    // The user wins twice, or a status counts more packets than the users have.
    expect(lines.at(-1)).toMatch(/"(?:outcome|status)":"won"|"left":/);
  }, 60_000);

  it('a take that leaves the task with the waiting ones', async () => {
    const leaves = variant(takeTasks, [
      `if due_count > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, due_count - 1) end`,
      '',
    ]);
    const lines = await shortest({ subject: tasks, seeds: replaced(leaves) });
    expect(lines.at(-1)).toContain('returns');
  }, 60_000);
});
