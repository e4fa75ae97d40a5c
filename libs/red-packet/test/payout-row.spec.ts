import { KeySpace } from 'luanest/script-registry';
import { Layouts } from '../src/buckets/layout';
import { grantOf, ownerOf, rowOf } from '../src/payouts/payout-row';

const row = { user: 'u', packet: '7', cents: '120', at: '5000' };

describe('a payout row', () => {
  it('has the winner, the packet, the cents and the time', () => {
    expect(grantOf(row)).toEqual({ userId: 'u', packetId: '7', amountCents: 120, grantedAtMs: 5000 });
    expect(grantOf({ ...row, packet: '9999999', cents: '1', at: '1' })).toMatchObject({
      packetId: '9999999',
      amountCents: 1,
    });
  });

  it.each<[string, Record<string, unknown>]>([
    ['nothing', {}],
    ['no user', { ...row, user: undefined }],
    ['an empty user', { ...row, user: '' }],
    ['a user that is not text', { ...row, user: 5 }],
    ['no packet', { ...row, packet: undefined }],
    ['packet 0', { ...row, packet: '0' }],
    ['a packet with a leading zero', { ...row, packet: '07' }],
    ['a packet that is not text', { ...row, packet: 7 }],
    ['a packet of eight digits', { ...row, packet: '10000000' }],
    ['a packet with more text before', { ...row, packet: 'x7' }],
    ['a packet with more text after', { ...row, packet: '7x' }],
    ['no cents', { ...row, cents: undefined }],
    ['0 cents', { ...row, cents: '0' }],
    ['a part of a cent', { ...row, cents: '1.5' }],
    ['too many cents', { ...row, cents: '9007199254740992' }],
    ['no time', { ...row, at: undefined }],
    ['time 0', { ...row, at: '0' }],
    ['a time that is not a number', { ...row, at: 'x' }],
  ])('is not an entry with %s', (_, fields) => {
    expect(grantOf(fields)).toBeUndefined();
  });

  it.each(['a', 'a/b@c', '{x}%:~', '../..', '__proto__', 'ü🎁', 'x'.repeat(128)])('names the bucket of %s', (id) => {
    const layouts = new Layouts(new KeySpace('p', 'red-packet'), 16);
    for (const [buckets, bucket] of [
      [1, 0],
      [3, 2],
      [64, 63],
    ] as const) {
      const keys = layouts.bucket(id, buckets, bucket);
      const owner = ownerOf(id, 1_800_000_000_000, buckets, bucket);
      const found = rowOf({ ...row, activity: owner }, keys.outbox, layouts);
      expect(found).toMatchObject({ activityId: id, owner, keys });
      expect(found?.activityKey).toBe(`${encodeURIComponent(id)}@1800000000000`);
      const other = layouts.outboxes.find((outbox) => outbox !== keys.outbox) ?? '';
      expect(rowOf({ ...row, activity: owner }, other, layouts)).toBeUndefined();
    }
  });
});
