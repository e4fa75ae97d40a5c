import { refund } from '../../../libs/rate-limit/src/rate-limit.scripts';
import { recordFully, recordRead } from '../../../libs/read-reward/src/read-reward.scripts';
import { closeBucket, settleBucket } from '../../../libs/red-packet/src/activity/activity.scripts';
import { receivePackets, sendPackets } from '../../../libs/red-packet/src/buckets/bucket.scripts';
import { grabPacket } from '../../../libs/red-packet/src/grabs/grab.scripts';
import { rateLimit } from '../protocols/rate-limit';
import { readReward } from '../protocols/read-reward';
import { redPacket, usersOf } from '../protocols/red-packet';
import { counterExample, variant } from './seeded';

describe('the explorer finds seeded defects of rate limits', () => {
  it('a refund of a fixed window that does not compare the window takes hits of the next one', () => {
    const protocol = rateLimit({
      scenario: 'seeded',
      algorithm: 'fixed-window',
      limit: 1,
      requests: { A: 1, B: 1 },
      budgets: { reset: 1 },
      depth: 11,
    });
    const takes = variant(
      refund,
      ['if count == 0 or ends_ms ~= math.abs(charged_until_ms) then return 0 end', 'if count == 0 then return 0 end'],
      ['if charged_until_ms < 0 and mark > 0 then return 0 end', ''],
    );
    const found = counterExample(protocol, [takes]);
    expect(found?.problem).toContain('1 hits were allowed, 0 are counted');
    expect(found?.moves).toEqual([
      'A: begin',
      'A: consume',
      'A: get the reply',
      'A: begin a refund',
      'A: read the window',
      'A: get the window',
      'B: begin',
      'the operator resets the counter',
      'B: consume',
      'B: consume, after the counter had a mark',
      'A: refund',
    ]);
  });

  const gives = variant(
    refund,
    ['if charged_us < empty_us then return 0 end', ''],
    ['given = math.min(given, math.max(tonumber(low) or 0, cost - drained_in(rule, at_us - charged_us)))', ''],
  );
  const bucket = { scenario: 'seeded', algorithm: 'token-bucket', limit: 2, depth: 8 } as const;

  // The bucket gets back hits of A, and after that A's refund gives them again.
  const wayBy = (move: string): string[] => [
    'A: begin',
    'A: consume',
    'B: begin',
    'C: begin',
    move,
    'B: consume',
    'A: refund',
    'C: consume',
  ];

  it('a refund of a token bucket that gives hits of before a reset', () => {
    const requests = { A: 2, B: 2, C: 2 };
    const found = counterExample(rateLimit({ ...bucket, requests, budgets: { reset: 1 } }), [gives]);
    expect(found?.problem).toContain('Broken: 4 hits in 2 ms');
    expect(found?.moves).toEqual(wayBy('the operator resets the counter'));
  });

  it('a refund of a token bucket that gives hits that have drained', () => {
    const requests = { A: 2, B: 1, C: 2 };
    const found = counterExample(rateLimit({ ...bucket, requests, budgets: { time: 1 } }), [gives]);
    expect(found?.problem).toContain('Broken: 3 hits in 1 ms');
    expect(found?.moves).toEqual(wayBy('500 ms pass'));
  });
});

describe('the explorer finds seeded defects of red packets', () => {
  const pools = [['1:10', '2:20'], ['3:30']];
  const settings = { scenario: 'seeded', pools, users: usersOf(0, 1), depth: 9 };

  it('packets that arrive twice', () => {
    const twice = variant(receivePackets, [
      'if marks[1] and tonumber(ARGV[2]) <= tonumber(marks[1]) then',
      'if false then',
    ]);
    const found = counterExample(redPacket({ ...settings, movers: ['M'], budgets: { lost: 1 } }), [twice]);
    expect(found?.problem).toContain('The packets are 1:10, 2:20, 2:20, 3:30');
    expect(found?.moves).toEqual([
      'M: send from 0',
      'M: receive at 1, and the reply is lost',
      'M: send from 0',
      'M: receive at 1',
    ]);
  });

  it('a second transfer replaces the record of one that has not arrived', () => {
    const replaces = variant(sendPackets, ['if found then\n', 'if false then\n']);
    const protocol = redPacket({ ...settings, movers: ['M'], moves: 2, budgets: { time: 1, lost: 1, crash: 1 } });
    const found = counterExample(protocol, [replaces]);
    expect(found?.problem).toContain('The packets are 1:10, 3:30');
    expect(found?.moves).toEqual(['M: send from 0, and the reply is lost', 'M: send from 0']);
  });

  it('a repeated grab wins a second packet', () => {
    const wins = variant(
      grabPacket,
      ['if grants[1] then', 'if false then'],
      ["local mine = redis.call('HGET', KEYS[3], ARGV[1])", 'local mine = nil'],
    );
    const found = counterExample(redPacket({ ...settings, budgets: {} }), [wins]);
    expect(found?.problem).toContain('u1 was given packet 1, and then 2');
    expect(found?.moves).toEqual(['u1: grab', 'u1: grab']);
  });

  it('a group that grants a packet twice', () => {
    const twice = variant(grabPacket, [
      'gate.at, gate.taken, gate.granted = gate.at + 1,',
      'gate.at, gate.taken, gate.granted = gate.at,',
    ]);
    const found = counterExample(redPacket({ ...settings, users: usersOf(0, 0), budgets: {} }), [twice]);
    expect(found?.problem).toMatch(/^A group of 3 calls of red-packet.grab gets .*, and the same calls alone get /);
    expect(found?.moves).toEqual([]);
  });

  it('a TTL for keys that owe a payout', () => {
    const forgets = variant(settleBucket, [
      'local owed = not over or granted + (meta[10] or 0) ~= (meta[11] or 0) + 0',
      'local owed = not over',
    ]);
    const protocol = redPacket({ ...settings, payers: ['P'], budgets: { close: 1, settle: 1 } });
    const found = counterExample(protocol, [forgets]);
    expect(found?.problem).toContain('Bucket 0 gets a TTL, and owes payouts');
    expect(found?.moves).toEqual([
      'u1: grab',
      'the operator closes the activity',
      'closer: close bucket 0',
      'closer: settle bucket 0',
    ]);
  });

  it('a close that forgets to count the refunds', () => {
    const forgets = variant(closeBucket, ["redis.call('HINCRBY', KEYS[1], 'refundedCents', format_number(cents))", '']);
    const found = counterExample(redPacket({ ...settings, budgets: { close: 1 } }), [forgets]);
    expect(found?.problem).toContain('The refunds of bucket 0 differ');
    expect(found?.moves).toEqual(['the operator closes the activity', 'closer: close bucket 0']);
  });
});

describe('the explorer finds seeded defects of read rewards', () => {
  const readers = { A: { items: ['i', 'j'], skewMs: 0 }, B: { items: ['k'], skewMs: -1_400 } };
  const settings = { scenario: 'seeded', limit: 1, readers, budgets: { time: 3, lost: 1 }, depth: 8 };

  it('a process whose clock is behind sets the period of a user back', () => {
    const back = variant(recordRead, ['if not is_current or not last or last - from > 0 then return 0 end', '']);
    const found = counterExample(readReward(settings), [back]);
    expect(found?.problem).toContain('The grant 1 was given for i and for j');
    expect(found?.moves).toEqual(['A: read i', 'B: read k', 'A: read j']);
  });

  it('an item that counts is counted again', () => {
    const again = variant(recordFully, ['local known = grant and not is_new and 1 or 0', 'local known = 0']);
    const same = { A: { items: ['i'], skewMs: 0 }, B: { items: ['i'], skewMs: 0 } };
    const found = counterExample(readReward({ ...settings, readers: same, limit: 2, operations: true }), [again]);
    expect(found?.problem).toContain('i counts twice');
    expect(found?.moves).toEqual(['A: read i with all periods', 'B: read i with all periods']);
  });
});
