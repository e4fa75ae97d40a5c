import { closeBucket, settleBucket } from '../../libs/red-packet/src/activity/activity.scripts';
import { receivePackets, sendPackets } from '../../libs/red-packet/src/buckets/bucket.scripts';
import { grabAlone } from '../../libs/red-packet/src/grabs/grab.scripts';
import { recordFully, recordRead } from '../../libs/read-reward/src/read-reward.scripts';
import { claimRun, completeRun } from '../../libs/scheduled-lock/src/scheduled-lock.scripts';
import {
  acknowledge,
  repairGroup,
  retryEntry,
  takeOrdered,
} from '../../libs/stream-consumer/src/consumer/consumer.scripts';
import { readReward } from '../protocols/read-reward';
import { redPacket, usersOf } from '../protocols/red-packet';
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
    expect(found?.moves).toHaveLength(2);
  });

  it('a late complete ends the run of another node', () => {
    const ends = variant(completeRun, ['local mine = seen[1] == ARGV[1]', 'local mine = true']);
    const protocol = scheduledLock({ ...settings, catchUps: 1, budgets: { time: 2, lost: 1 } });
    expect(counterExample(protocol, [ends])?.problem).toContain('N and M run it');
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
    expect(found?.problem).toContain('is lost for');
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
      budgets: { time: 3, lost: 1, repair: 0 },
    });
    expect(counterExample(protocol, [twice])?.problem).toContain('Two sessions of mail');
  });

  const ordered = { ...settings, groups: ['mail'], consumers: { A: 'mail', B: 'mail' }, ordered: true };

  it('a message is given before the earlier one of its key is settled', () => {
    const overtakes = variant(takeOrdered, [
      "if key ~= '' and is_ours and not may_run(key, entry[1]) then",
      'if false then',
    ]);
    expect(counterExample(streamConsumer({ ...ordered, budgets: { repair: 0 } }), [overtakes])?.problem).toContain(
      'before m1',
    );
  });

  it('a repair that does not look at parked entries: the group stands still after a foreign trim', () => {
    const stands = variant(repairGroup, [
      'local consumer, head = parking_name(key)',
      'if true then return end local consumer, head = parking_name(key)',
    ]);
    const protocol = streamConsumer({
      ...ordered,
      messages: { m1: 'k', m2: 'k', m3: 'k' },
      budgets: { trim: 1, crash: 1, time: 1, repair: 1 },
    });
    expect(counterExample(protocol, [stands])?.problem).toContain('not everything settles');
  });
});

describe('the explorer finds seeded defects of red packets', () => {
  const pools = [['1:10', '2:20'], ['3:30']];
  const settings = { scenario: 'seeded', pools, users: usersOf(0, 1), depth: 9 };

  it('packets that arrive twice', () => {
    const twice = variant(receivePackets, [
      "if marks[1] and tonumber(ARGV[2]) <= tonumber(marks[1]) then return { 'received-before' } end",
      '',
    ]);
    const found = counterExample(redPacket({ ...settings, movers: ['M'], budgets: { time: 1, lost: 1 } }), [twice]);
    expect(found?.problem).toContain('The packets are');
  });

  it('a second transfer replaces the record of one that has not arrived', () => {
    const replaces = variant(sendPackets, ["if found then return { 'sent', found } end", '']);
    const protocol = redPacket({ ...settings, movers: ['M'], moves: 2, budgets: { time: 1, lost: 1, crash: 1 } });
    expect(counterExample(protocol, [replaces])?.problem).toContain('The packets are');
  });

  it('a repeated grab wins a second packet', () => {
    const wins = variant(grabAlone, ['if grants[1] then', 'if false then']);
    const found = counterExample(redPacket({ ...settings, budgets: {} }), [wins]);
    expect(found?.moves).toHaveLength(2);
  });

  it('a TTL for keys that owe a payout', () => {
    const forgets = variant(settleBucket, [
      'local owed = not over or redis.call',
      'local owed = not over or false and redis.call',
    ]);
    const protocol = redPacket({ ...settings, payers: ['P'], budgets: { close: 1, settle: 1 } });
    expect(counterExample(protocol, [forgets])?.problem).toContain('owes payouts');
  });

  it('a close that forgets to count the refunds', () => {
    const forgets = variant(closeBucket, ["redis.call('HINCRBY', KEYS[1], 'refundedCents', format_number(cents))", '']);
    expect(counterExample(redPacket({ ...settings, budgets: { close: 1 } }), [forgets])?.problem).toContain('refunds');
  });
});

describe('the explorer finds seeded defects of read rewards', () => {
  const readers = { A: { items: ['i', 'j'], skewMs: 0 }, B: { items: ['k'], skewMs: -1_400 } };
  const settings = { scenario: 'seeded', limit: 1, readers, budgets: { time: 3, lost: 1 }, depth: 8 };

  it('a process whose clock is behind sets the period of a user back', () => {
    const back = variant(recordRead, ['if not is_current or not last or last - from > 0 then return 0 end', '']);
    expect(counterExample(readReward(settings), [back])?.problem).toMatch(/went back|was given for/);
  });

  it('an item that counts is counted again', () => {
    const again = variant(recordFully, ['local known = grant and not is_new and 1 or 0', 'local known = 0']);
    const same = { A: { items: ['i'], skewMs: 0 }, B: { items: ['i'], skewMs: 0 } };
    const found = counterExample(readReward({ ...settings, readers: same, limit: 2, operations: true }), [again]);
    expect(found?.problem).toMatch(/counts twice|is lost/);
    expect(found?.moves).toHaveLength(2);
  });
});
