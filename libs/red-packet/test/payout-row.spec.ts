import { KeySpace } from 'luanest/script-registry';
import { Layouts } from '../src/buckets/layout';
import { grantOf, ownerOf, rowOf } from '../src/payouts/payout-row';

const row = { user: 'u', grant: '7:120:5000' };

describe('a payout row', () => {
  it('has the winner, the packet, the cents and the time', () => {
    expect(grantOf(row)).toEqual({ userId: 'u', packetId: '7', amountCents: 120, grantedAtMs: 5000 });
    expect(grantOf({ ...row, grant: '9999999:1:1' })).toMatchObject({ packetId: '9999999', amountCents: 1 });
  });

  it.each<[string, Record<string, unknown>]>([
    ['nothing', {}],
    ['no user', { ...row, user: undefined }],
    ['an empty user', { ...row, user: '' }],
    ['a user that is not text', { ...row, user: 5 }],
    ['no grant', { ...row, grant: undefined }],
    ['a grant that is not text', { ...row, grant: 7 }],
    ['packet 0', { ...row, grant: '0:120:5000' }],
    ['a packet with a leading zero', { ...row, grant: '07:120:5000' }],
    ['a packet of eight digits', { ...row, grant: '10000000:120:5000' }],
    ['more text before', { ...row, grant: 'x7:120:5000' }],
    ['more text after', { ...row, grant: '7:120:5000:l' }],
    ['no cents', { ...row, grant: '7::5000' }],
    ['0 cents', { ...row, grant: '7:0:5000' }],
    ['a part of a cent', { ...row, grant: '7:1.5:5000' }],
    ['too many cents', { ...row, grant: '7:9007199254740992:5000' }],
    ['no time', { ...row, grant: '7:120' }],
    ['time 0', { ...row, grant: '7:120:0' }],
    ['a time that is not a number', { ...row, grant: '7:120:x' }],
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
