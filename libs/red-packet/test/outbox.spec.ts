import { InvalidOptionError } from '../../internal/src';
import type { StreamConsumerService } from 'luanest/stream-consumer';
import { grantOf, Outbox } from '../src/payouts/outbox';

const KEYS = ['p:{a}:outbox', 'p:{b}:outbox'];
const row = { user: 'u', packet: '7', cents: '120', at: '5000' };

function streams(parts: Partial<Record<'forgetStream' | 'deadLetters', jest.Mock>> = {}) {
  const { forgetStream = jest.fn(), deadLetters = jest.fn() } = parts;
  return { forgetStream, deadLetters, service: { forgetStream, deadLetters } as unknown as StreamConsumerService };
}

describe('a payout row', () => {
  it('has the winner, the packet, the cents and the time', () => {
    expect(grantOf(row)).toEqual({ userId: 'u', packetId: '7', amountCents: 120, grantedAtMs: 5000 });
    expect(grantOf({ ...row, packet: '9999999', cents: '1', at: '1' })).toMatchObject({
      packetId: '9999999',
      amountCents: 1,
    });
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['text', 'row'],
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
});

describe('the outboxes of an activity', () => {
  it('are one stream, whose name belongs to their keys, and whose rows are deleted when they are paid', () => {
    const { service } = streams();
    const { stream } = new Outbox(service, KEYS);
    expect(stream).toMatchObject({ keys: KEYS, deleteAfter: ['payouts'] });
    expect(stream.name).toMatch(/^red-packet\.[0-9a-f]{32}$/);
    expect(new Outbox(service, KEYS).stream.name).toBe(stream.name);
    expect(new Outbox(service, ['p:{a}:outbox']).stream.name).not.toBe(stream.name);
    expect(new Outbox(service, ['p:{a}:outbox,p:{b}:outbox']).stream.name).not.toBe(stream.name);
  });

  it('are forgotten by stream-consumer after each use, also after one that fails', async () => {
    const { service, forgetStream } = streams();
    const outbox = new Outbox(service, KEYS);
    const seen: unknown[] = [];
    expect(await outbox.with((...args) => (seen.push(args), Promise.resolve(5)))).toBe(5);
    expect(seen).toEqual([[service, outbox.stream, 'payouts']]);
    await expect(outbox.with(() => Promise.reject(new Error('down')))).rejects.toThrow('down');
    expect(forgetStream.mock.calls).toEqual([[outbox.stream], [outbox.stream]]);
  });

  it('stay known while a consumer reads them, and another error is passed on', () => {
    const forgetStream = jest.fn(() => {
      throw new InvalidOptionError('it is read');
    });
    const outbox = new Outbox(streams({ forgetStream }).service, KEYS);
    expect(() => outbox.forget()).not.toThrow();
    forgetStream.mockImplementation(() => {
      throw new TypeError('own');
    });
    expect(() => outbox.forget()).toThrow('own');
  });
});

describe('dead-lettered payouts', () => {
  const letter = {
    id: '0:1-0',
    error: 'no money',
    attempts: 3,
    firstSeenAtMs: 10,
    deadAtMs: 20,
    payload: row,
    other: 1,
  };
  const payout = { userId: 'u', packetId: '7', amountCents: 120, grantedAtMs: 5000 };
  const item = { id: '0:1-0', payout, error: 'no money', attempts: 3, firstSeenAtMs: 10, deadAtMs: 20 };

  it('are read page by page', async () => {
    const deadLetters = jest
      .fn()
      .mockResolvedValue({ items: [letter, { ...letter, payload: {} }], nextCursor: '0:1-0' });
    const outbox = new Outbox(streams({ deadLetters }).service, KEYS);
    expect(await outbox.page(2)).toEqual({ items: [item, { ...item, payout: undefined }], nextCursor: '0:1-0' });
    await outbox.page(3, { at: '1:2-0', bucket: 1 });
    expect(deadLetters.mock.calls).toEqual([
      [outbox.stream, 'payouts', { limit: 2, cursor: undefined }],
      [outbox.stream, 'payouts', { limit: 3, cursor: '1:2-0' }],
    ]);
  });

  it('are refused with the cursor of a bucket that the activity does not have', async () => {
    const { service, deadLetters } = streams();
    await expect(new Outbox(service, KEYS).page(2, { at: '2:2-0', bucket: 2 })).rejects.toThrow('cursor');
    expect(deadLetters).not.toHaveBeenCalled();
  });

  it('are listed from all pages of 500', async () => {
    const deadLetters = jest
      .fn()
      .mockResolvedValueOnce({ items: [letter], nextCursor: '1:2-0' })
      .mockResolvedValueOnce({ items: [{ ...letter, id: '1:3-0' }] });
    const ids: string[] = [];
    for await (const { id } of new Outbox(streams({ deadLetters }).service, KEYS).deadLetters()) ids.push(id);
    expect(ids).toEqual(['0:1-0', '1:3-0']);
    expect(deadLetters.mock.calls.map(([, , options]) => options as unknown)).toEqual([
      { limit: 500, cursor: undefined },
      { limit: 500, cursor: '1:2-0' },
    ]);
  });
});
