import { acquireLock, releaseLock, renewLock } from '../../libs/lock/src/lock.scripts';
import { claimOnce, confirmOnce, releaseOnce } from '../../libs/once/src/once.scripts';
import { listDead } from '../../libs/delayed-task/src/queue/queue.scripts';
import { acknowledgeTasks, failTask, takeTasks } from '../../libs/delayed-task/src/worker/worker.scripts';
import { refund } from '../../libs/rate-limit/src/rate-limit.scripts';
import { delayedTask } from '../protocols/delayed-task';
import { lock } from '../protocols/lock';
import { once } from '../protocols/once';
import { rateLimit } from '../protocols/rate-limit';
import { counterExample, variant } from './seeded';

// Old defects, and others like them, each as a change of the present Lua. The explorer must find each, with a shortest way.

describe('the explorer finds seeded defects of locks', () => {
  const protocol = lock({
    scenario: 'seeded',
    processes: { A: 'waits', B: 'waits' },
    rounds: 2,
    renewals: 1,
    budgets: { time: 3, lost: 1 },
    depth: 9,
  });

  it('a process that releases and acquires again passes the one that waits', () => {
    const found = counterExample(protocol, [
      variant(acquireLock, ["if sub(raw, 14, 14) == '1' then return { fence, -1 } end", '']),
    ]);
    expect(found?.problem).toContain('has waited longer');
    expect(found?.moves).toEqual([
      'A: acquire',
      'A: get the reply',
      'B: acquire',
      'B: wait',
      'A: release',
      'A: acquire',
    ]);
  });

  it('a release that deletes the key forgets the fence', () => {
    const forgets = variant(releaseLock, [
      "redis.call('SETRANGE', KEYS[1], '0', '0000000000000')",
      "redis.call('DEL', KEYS[1])",
    ]);
    expect(counterExample(protocol, [forgets])?.problem).toMatch(/got fence|waited longer/);
  });

  it('a release without the owner frees the lock of another process', () => {
    const frees = variant(releaseLock, ['if not mine then', 'if false then']);
    expect(counterExample(protocol, [frees])?.problem).toContain('Broken: A holds the lock, and Redis has');
  });

  it('a renewal after the end of the lease takes the lock from its next holder', () => {
    const takes = variant(renewLock, ['if lock.owner ~= ARGV[1] or lock.till <= now_ms then return 0 end', '']);
    expect(counterExample(protocol, [takes])?.problem).toContain('Broken: A holds the lock, and Redis has');
  });
});

describe('the explorer finds seeded defects of once', () => {
  const protocol = once({
    scenario: 'seeded',
    workers: ['A', 'B'],
    delivery: 'at-least-once',
    retentionMs: 3_000,
    failures: 1,
    budgets: { time: 2, lost: 1, late: 1 },
    depth: 9,
  });

  it('a confirmation after the lease of another owner replaces its claim', () => {
    const replaces = variant(confirmOnce, [
      "if string.sub(text, 61, 60 + string.sub(text, 44, 47)) ~= ARGV[1] then return 'lost' end",
      '',
    ]);
    expect(counterExample(protocol, [replaces])?.problem).toContain('B1 is confirmed, and Redis has !A1');
  });

  it('a late release without the token ends the claim of the next owner', () => {
    const ends = variant(releaseOnce, [
      "return string.sub(text, 61 + a, 60 + a + b) == ARGV[1] and 'released' or 'lost'",
      '',
    ]);
    expect(counterExample(protocol, [ends])?.problem).toContain('A and B own it');
  });

  it('a claim with at-most-once begins again after its lease', () => {
    const again = variant(claimOnce, ["if string.sub(text, 2, 2) == 'm' then return 'a' end", '']);
    const atMostOnce = once({
      scenario: 'seeded',
      workers: ['A', 'B'],
      delivery: 'at-most-once',
      retentionMs: 3_000,
      budgets: { time: 2 },
      depth: 6,
    });
    expect(counterExample(atMostOnce, [again])?.moves).toEqual(['A: claim', '1000 ms pass', 'B: claim']);
  });
});

describe('the explorer finds seeded defects of rate limits', () => {
  const settings = { scenario: 'seeded', requests: { A: 1, B: 1, C: 1 }, budgets: { time: 1, reset: 1 }, depth: 16 };

  it('a refund of a fixed window that does not compare the window takes hits of the next one', () => {
    const protocol = rateLimit({ ...settings, algorithm: 'fixed-window', limit: 1 });
    const takes = variant(refund, [
      'if count == 0 or ends_ms ~= charged_until_ms then return 0 end',
      'if count == 0 then return 0 end',
    ]);
    expect(counterExample(protocol, [takes])?.problem).toContain('1 hits were allowed, 0 are counted');
  });

  it('a refund of a token bucket that gives hits that have drained', () => {
    const protocol = rateLimit({
      ...settings,
      requests: { A: 2, B: 2, C: 2, D: 2 },
      algorithm: 'token-bucket',
      limit: 2,
    });
    const gives = variant(
      refund,
      ['if charged_us < empty_us then return 0 end', ''],
      ['given = math.min(given, math.max(tonumber(low) or 0, cost - drained_in(rule, at_us - charged_us)))', ''],
    );
    expect(counterExample(protocol, [gives])).toBeDefined();
  });
});

describe('the explorer finds seeded defects of delayed tasks', () => {
  const tasks = { t1: { delayMs: 0, attempts: 1 }, t2: { delayMs: 0, attempts: 1 } };

  it('a page by number instead of by id misses a dead letter if another one is dropped', () => {
    const protocol = delayedTask({
      scenario: 'seeded',
      tasks,
      workers: ['W'],
      budgets: { cancel: 1, list: 1 },
      depth: 11,
    });
    const byNumber = variant(listDead, [
      "local from = rank_after(before, before + same, ARGV[3], function(rank)\n  return redis.call('ZRANGE', KEYS[1], rank, rank)[1]\nend)",
      'local from = before + (tonumber(string.sub(ARGV[3], 2)) or 0)',
    ]);
    expect(counterExample(protocol, [byNumber])?.problem).toContain('missed');
  });

  it('a take whose replay leases other tasks', () => {
    const protocol = delayedTask({
      scenario: 'seeded',
      tasks,
      workers: ['W', 'X'],
      budgets: { time: 2, lost: 1 },
      depth: 9,
    });
    const forgets = variant(takeTasks, [
      'if not is_replay then write_take(#ids - ended) end',
      'write_take(#ids - ended)',
    ]);
    expect(counterExample(protocol, [forgets])).toBeDefined();
  });

  it('an outcome without its token settles the attempt of another worker', () => {
    const twice = { t2: { delayMs: 0, attempts: 3 } };
    const protocol = delayedTask({
      scenario: 'seeded',
      tasks: twice,
      workers: ['W', 'X'],
      budgets: { time: 4 },
      depth: 9,
    });
    const settles = variant(failTask, [
      "if not record or run.token ~= ARGV[2] then return 'lost' end",
      "if not record then return 'lost' end",
    ]);
    expect(counterExample(protocol, [settles])).toBeDefined();
    const removes = variant(acknowledgeTasks, ["string.find(runs[i], ' l ' .. ARGV[2 * i] .. ' ', 1, true)", 'true']);
    expect(counterExample(protocol, [removes])).toBeDefined();
  });
});
