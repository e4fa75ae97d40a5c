import { LuanestError, InvalidInputError } from 'luanest/script-registry';
import { InvalidOptionError } from '../../internal/src';
import { HOSTILE_IDS, hostileValues, IMPOSSIBLE_IDS, isPolluted } from '../../../test/support/hostile';
import { grantIdOf, readGrantId } from '../src/grant-id';
import { resolveOptions } from '../src/read-reward.options';
import { keysOf, openBench, servers } from './support';

describe.each(servers)('users and items that strangers name, on %s', (_name, connect) => {
  it('count each by itself', async () => {
    const bench = await openBench(connect());
    try {
      const service = bench.service({ read: { limit: 1_000 } });
      const users = await Promise.all(
        HOSTILE_IDS.map((userId) => service.record({ rule: 'read', userId, itemId: 'i' })),
      );
      expect(users.map(({ status, used }) => [status, used])).toEqual(HOSTILE_IDS.map(() => ['rewarded', 1]));
      const items = await Promise.all(
        HOSTILE_IDS.map((itemId) => service.record({ rule: 'read', userId: 'u', itemId })),
      );
      expect(items.every(({ status }) => status === 'rewarded')).toBe(true);
      expect(Math.max(...items.map(({ used }) => used))).toBe(HOSTILE_IDS.length);
      // One grant of one user is nobody else's, also where its id is taken apart and put together again.
      for (const { grantId } of users)
        expect(await service.refund(grantId as string)).toMatchObject({ status: 'refunded' });
      expect((await service.status('u'))[0]?.used).toBe(HOSTILE_IDS.length);
    } finally {
      bench.close();
    }
  });

  it('get answers of their own for an operation id that others use, too', async () => {
    const bench = await openBench(connect());
    try {
      const service = bench.service({ read: { limit: 9 }, other: { limit: 9 } });
      const call = { rule: 'read', userId: 'u:a', itemId: 'i', operationId: 'b' };
      const first = await service.record(call);
      for (const other of [{ userId: 'u', operationId: 'a:b' }, { userId: 'U:a' }, { rule: 'other' }]) {
        expect(await service.record({ ...call, ...other })).toMatchObject({ status: 'rewarded', used: 1 });
      }
      expect(await service.record(call)).toEqual(first);
    } finally {
      bench.close();
    }
  });

  it('refund nothing by a grant id of their own making', async () => {
    const bench = await openBench(connect());
    try {
      const service = bench.service({ read: { limit: 9 } });
      const { grantId } = await service.record({ rule: 'read', userId: 'u', itemId: 'i' });
      const { startsAtMs, seq } = readGrantId(grantId);
      for (const forged of [
        grantIdOf('read', startsAtMs, seq + 1, 'u', 'i'),
        grantIdOf('read', startsAtMs + 1, seq, 'u', 'i'),
        grantIdOf('read', startsAtMs, seq, 'v', 'i'),
        grantIdOf('read', startsAtMs, seq, 'u', 'j'),
      ]) {
        expect(await service.refund(forged)).not.toMatchObject({ status: 'refunded' });
      }
      expect((await service.status('u'))[0]?.used).toBe(1);
    } finally {
      bench.close();
    }
  });

  it('are refused where they can be none, before anything is written', async () => {
    const bench = await openBench(connect());
    try {
      const service = bench.service({ read: { limit: 9 } });
      const good = { rule: 'read', userId: 'u', itemId: 'i' };
      for (const value of [...IMPOSSIBLE_IDS, ...hostileValues()] as string[]) {
        for (const field of ['rule', 'userId', 'itemId', 'operationId', 'timeZone']) {
          const error = await service.record({ ...good, [field]: value }).then(
            () => field,
            (reason: unknown) => reason as Error,
          );
          expect(error).toBeInstanceOf(InvalidInputError);
          expect((error as Error).message.length).toBeLessThan(300);
        }
        await expect(service.refund(value)).rejects.toThrow(InvalidInputError);
      }
      for (const rule of ['__proto__', 'constructor', 'toString']) {
        await expect(service.record({ ...good, rule })).rejects.toThrow(InvalidInputError);
      }
      expect(await keysOf(bench.raw, bench.prefix)).toEqual([]);
    } finally {
      bench.close();
    }
  });
});

it('rules of any kind are taken or refused by name, and change no other object', () => {
  const rules = JSON.parse('{"__proto__":{"limit":1}}') as never;
  expect(() => resolveOptions({ rules })).toThrow(InvalidOptionError);
  for (const option of ['limit', 'pointsPerItem', 'period', 'timeZone', 'dayStartsAt', 'dedupe', 'retentionMs']) {
    for (const value of hostileValues()) {
      try {
        resolveOptions({ rules: { read: { limit: 1, [option]: value } } });
      } catch (error) {
        expect([option, error]).toEqual([option, expect.any(LuanestError)]);
      }
    }
  }
  expect(isPolluted()).toBe(false);
});
