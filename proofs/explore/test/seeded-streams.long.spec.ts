import { claimRun, completeRun } from '../../../libs/scheduled-lock/src/scheduled-lock.scripts';
import {
  acknowledge,
  repairGroup,
  retryEntry,
  takeOrdered,
} from '../../../libs/stream-consumer/src/consumer/consumer.scripts';
import { scheduledLock } from '../protocols/scheduled-lock';
import { streamConsumer } from '../protocols/stream-consumer';
import { counterExample, variant } from './seeded';

describe('the explorer finds seeded defects of scheduled jobs', () => {
  const settings = { scenario: 'seeded', kind: 'cron', nodes: ['N', 'M'], ticks: 1, depth: 9 } as const;

  it('a slot that has run is claimed again', () => {
    const again = variant(claimRun, ["elseif slot <= last then refusal = 'skipped-slot' end", 'end']);
    const found = counterExample(scheduledLock({ ...settings, budgets: { time: 1 } }), [again]);
    expect(found?.problem).toContain('runs again');
    expect(found?.moves).toEqual(['N: tick of 0', 'N: complete', '100 ms pass', 'M: tick of 0']);
  });

  it('a catch-up takes the slot of a run whose lease lasts', () => {
    const early = variant(
      claimRun,
      ['or till > now_ms or now_ms - last > stale', 'or now_ms - last > stale'],
      ["if not refusal and (over or till > now_ms) then refusal = 'skipped-held' end", ''],
    );
    const found = counterExample(scheduledLock({ ...settings, catchUps: 1, budgets: {} }), [early]);
    expect(found?.problem).toContain('N and M run it');
    expect(found?.moves).toEqual(['N: tick of 0', 'M: catch up']);
  });

  it('a late complete ends the run of another node', () => {
    const ends = variant(completeRun, ['local mine = seen[1] == ARGV[1]', 'local mine = true']);
    const protocol = scheduledLock({ ...settings, catchUps: 1, budgets: { time: 2, lost: 1 } });
    const found = counterExample(protocol, [ends]);
    expect(found?.problem).toContain('N and M run it');
    expect(found?.moves).toEqual([
      'N: tick of 0',
      'M: catch up, and the reply is lost',
      'M: give back what it may have',
      'M: tick of 0',
    ]);
  });
});

describe('the explorer finds seeded defects of streams', () => {
  const settings = { scenario: 'seeded', messages: { m1: 'k', m2: 'k' }, depth: 9 };
  const two = { groups: ['mail', 'audit'], consumers: { A: 'mail', B: 'audit' }, failures: false } as const;

  it('a new partition is emptied before each group has found it', () => {
    const empties = variant(acknowledge, ['if not there[name] then return nil end', '']);
    const found = counterExample(streamConsumer({ ...settings, ...two, isOpen: false, budgets: { repair: 0 } }), [
      empties,
    ]);
    expect(found?.problem).toContain('is lost for audit');
    expect(found?.moves).toEqual(['publisher: publish m1', 'A: open mail', 'A: take', 'A: handle 0000-0']);
  });

  it('ids that are compared by their time alone: an entry is deleted before the slower group has read it', () => {
    const ties = variant(acknowledge, [
      'return pad_id(id) > pad_id(other)',
      "return pad_id(id):match('^%d+') > pad_id(other):match('^%d+')",
    ]);
    const found = counterExample(streamConsumer({ ...settings, ...two, budgets: { repair: 0 } }), [ties]);
    expect(found?.problem).toContain('m2 is lost for mail');
    expect(found?.moves).toEqual([
      'publisher: publish m1',
      'A: take',
      'publisher: publish m2',
      'B: take',
      'B: handle 0000-1',
    ]);
  });

  it('a retry that runs twice takes the entry from its next session', () => {
    const twice = variant(retryEntry, [
      'if not held[1] or held[1][2] ~= ARGV[2] or attempts ~= ARGV[4] - 1 then return { 1 } end',
      '',
    ]);
    const protocol = streamConsumer({
      ...settings,
      messages: { m1: '' },
      groups: ['mail'],
      consumers: { A: 'mail', B: 'mail' },
      budgets: { time: 2, lost: 1, repair: 0 },
      depth: 8,
    });
    const found = counterExample({ ...protocol, unsettled: undefined }, [twice]);
    expect(found?.problem).toContain('Two sessions of mail');
    expect(found?.moves).toEqual([
      'publisher: publish m1',
      'A: take',
      'A: retry 0000-0, and the reply is lost',
      '200 ms pass',
      'B: take',
      'A: retry 0000-0',
      '200 ms pass',
      'A: take',
    ]);
  });

  const ordered = { ...settings, groups: ['mail'], consumers: { A: 'mail', B: 'mail' }, ordered: true };

  it('a message is given before the earlier one of its key is settled', () => {
    const overtakes = variant(takeOrdered, [
      "if key ~= '' and is_ours and not may_run(key, entry[1]) then",
      'if false then',
    ]);
    const found = counterExample(streamConsumer({ ...ordered, budgets: { repair: 0 } }), [overtakes]);
    expect(found?.problem).toContain('before m1');
    expect(found?.moves).toEqual(['publisher: publish m1', 'publisher: publish m2', 'A: take']);
  });

  it('a repair that does not look at parked entries: the group stands still after a foreign trim', () => {
    const stands = variant(repairGroup, [
      'local consumer, head = parking_name(key)',
      'if true then return end local consumer, head = parking_name(key)',
    ]);
    const protocol = streamConsumer({
      ...ordered,
      budgets: { trim: 1, crash: 1, repair: 0 },
      depth: 5,
    });
    const found = counterExample(protocol, [stands]);
    expect(found?.problem).toContain('not everything settles');
    expect(found?.moves.at(-1)).toBe('a stranger trims the stream');
  });

  it('a repair that does not put back what its session does not hold: an entry stands still after a failover', () => {
    const forgets = variant(repairGroup, ['if not held[row[1]] then', 'if false then']);
    const protocol = streamConsumer({
      ...settings,
      messages: { m1: '' },
      groups: ['mail'],
      consumers: { A: 'mail' },
      failures: false,
      budgets: { failover: 1, repair: 0 },
      depth: 5,
    });
    const found = counterExample(protocol, [forgets]);
    expect(found?.problem).toContain('not everything settles: 1 entries are pending in mail');
    expect(found?.moves).toEqual([
      'publisher: publish m1',
      'A: take',
      'the replica stops following',
      'A: handle 0000-0',
      'the replica replaces the server',
    ]);
  });
});
