import { acquireLock, releaseLock, renewLock } from '../../../libs/lock/src/lock.scripts';
import { claimOnce, confirmOnce, releaseOnce } from '../../../libs/once/src/once.scripts';
import { listTasks, acknowledgeTasks, failTask, takeTasks } from '../../../libs/delayed-task/src/delayed-task.scripts';
import { delayedTask } from '../protocols/delayed-task';
import { lock } from '../protocols/lock';
import { once } from '../protocols/once';
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
    const found = counterExample(protocol, [forgets]);
    expect(found?.problem).toMatch(/^A got fence \d+, but \d+ was given before/);
    expect(found?.moves).toEqual(['A: acquire', 'A: get the reply', 'A: release', 'A: acquire']);
  });

  it('a release without the owner frees the lock of another process', () => {
    const frees = variant(releaseLock, ['if not mine then', 'if false then']);
    const found = counterExample(protocol, [frees]);
    expect(found?.problem).toContain('Broken: A holds the lock, and Redis has');
    expect(found?.moves).toEqual([
      'A: acquire',
      'A: get the reply',
      'B: acquire, and the reply is lost',
      'B: release what it may have',
      'B: leave the queue',
      'B: acquire',
    ]);
  });

  it('a renewal after the end of the lease takes the lock from its next holder', () => {
    const takes = variant(renewLock, ['if lock.owner ~= ARGV[1] or lock.till <= now_ms then return 0 end', '']);
    const found = counterExample(protocol, [takes]);
    expect(found?.problem).toContain('Broken: A holds the lock, and Redis has');
    expect(found?.moves).toEqual(['A: acquire', 'A: get the reply', '1000 ms pass', 'B: acquire', 'A: renew']);
  });
});

describe('the explorer finds seeded defects of once', () => {
  const settings = {
    scenario: 'seeded',
    workers: ['A', 'B'],
    delivery: 'at-least-once',
    retentionMs: 3_000,
    failures: 1,
    depth: 9,
  } as const;

  it('a confirmation after the lease of another owner replaces its claim', () => {
    const replaces = variant(confirmOnce, [
      "if string.sub(text, 61, 60 + string.sub(text, 44, 47)) ~= ARGV[1] then return 'lost' end",
      '',
    ]);
    const found = counterExample(once({ ...settings, budgets: { time: 1 } }), [replaces]);
    expect(found?.problem).toContain('B1 is confirmed, and Redis has !A1');
    expect(found?.moves).toEqual(['A: claim', '1000 ms pass', 'B: claim', 'A: confirm', 'B: confirm']);
  });

  it('a late release without the token ends the claim of the next owner', () => {
    const ends = variant(releaseOnce, [
      "return string.sub(text, 61 + a, 60 + a + b) == ARGV[1] and 'released' or 'lost'",
      '',
    ]);
    const found = counterExample(once({ ...settings, budgets: { time: 2, lost: 1, late: 1 } }), [ends]);
    expect(found?.problem).toContain('A and B own it');
    expect(found?.moves).toEqual([
      'A: claim',
      'B: claim, and the reply is lost',
      'B: give back what it may have',
      'B: claim',
    ]);
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
    const found = counterExample(atMostOnce, [again]);
    expect(found?.problem).toContain('It began 2 times');
    expect(found?.moves).toEqual(['A: claim', '1000 ms pass', 'B: claim']);
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
      depth: 9,
    });
    const byNumber = variant(listTasks, [
      "local from = rank_after(before, before + same, ARGV[3], function(rank)\n  return redis.call('ZRANGE', KEYS[1], rank, rank)[1]\nend)",
      'local from = before + (tonumber(string.sub(ARGV[3], 2)) or 0)',
    ]);
    const found = counterExample(protocol, [byNumber]);
    expect(found?.problem).toContain("The operator's list missed t2");
    expect(found?.moves).toEqual([
      'publisher: schedule t1',
      'publisher: schedule t2',
      'W: take',
      'W: fail t1',
      'W: fail t2',
      'the operator begins to list dead letters',
      'operator: read a page',
      'the operator cancels t1',
      'operator: read a page',
    ]);
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
      'if not is_replay then write_take(#ids - ended, limit - ended) end',
      'write_take(#ids - ended, limit - ended)',
    ]);
    const found = counterExample(protocol, [forgets]);
    expect(found?.problem).toContain('The call failed: delayed-task.take failed: ERR Wrong number of args');
    expect(found?.moves).toEqual(['publisher: schedule t1', 'W: take, and the reply is lost', 'W: repeat the take']);
  });

  it('an outcome without its token settles the attempt of another worker', () => {
    const twice = { t2: { delayMs: 0, attempts: 3 } };
    const protocol = delayedTask({
      scenario: 'seeded',
      tasks: twice,
      workers: ['W', 'X'],
      budgets: { time: 3 },
      depth: 9,
    });
    const settles = variant(failTask, [
      "if not record or run.token ~= ARGV[2] then return 'lost' end",
      "if not record then return 'lost' end",
    ]);
    const failed = counterExample(protocol, [settles]);
    expect(failed?.problem).toContain('Broken: t2 runs twice');
    expect(failed?.moves).toEqual([
      'publisher: schedule t2',
      'W: take',
      '1000 ms pass',
      'X: take',
      'W: fail t2',
      '1 ms pass',
      '199 ms pass',
      'W: take',
    ]);
    const removes = variant(acknowledgeTasks, ["string.find(runs[i], ' l ' .. ARGV[2 * i] .. ' ', 1, true)", 'true']);
    const acknowledged = counterExample(protocol, [removes]);
    expect(acknowledged?.problem).toContain('Broken: t2 is due');
    expect(acknowledged?.moves).toEqual([
      'publisher: schedule t2',
      'W: take',
      '1000 ms pass',
      'X: take',
      'X: fail t2',
      'W: acknowledge t2',
    ]);
  });
});
