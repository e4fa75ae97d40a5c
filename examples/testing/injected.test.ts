import { Test } from '@nestjs/testing';
import type { DelayedTaskService } from 'luanest/delayed-task';
import { LockService } from 'luanest/lock';
import { ReadRewardService } from 'luanest/read-reward';
import type { StreamConsumerService } from 'luanest/stream-consumer';
import { Articles, Orders, Reminders, Stock } from './injected';

test('a mock of DelayedTaskService is given to the constructor', async () => {
  const schedule = jest.fn().mockResolvedValue({ id: 't1', status: 'scheduled' });
  await new Reminders({ schedule } as unknown as DelayedTaskService).remind('u1');
  expect(schedule).toHaveBeenCalledWith('remind', { id: 'u1' }, { delayMs: 1_000 });
});

test('a mock of StreamConsumerService is given to the constructor', async () => {
  const publish = jest.fn();
  await new Orders({ publish } as unknown as StreamConsumerService).place('o1');
  expect(publish).toHaveBeenCalledWith('orders', { id: 'o1' });
});

test('a mock of LockService runs the work', async () => {
  const withLock = jest.fn((_name: string, _options: object, work: () => unknown) => Promise.resolve(work()));
  const module = await Test.createTestingModule({
    providers: [Stock, { provide: LockService, useValue: { withLock } }],
  }).compile();
  expect(await module.get(Stock).take('s1')).toBe(1);
  expect(withLock).toHaveBeenCalledWith('stock:s1', {}, expect.any(Function));
});

test('a mock of ReadRewardService decides how many points an item gives', async () => {
  const record = jest.fn().mockResolvedValue({ status: 'rewarded', points: 5 });
  const module = await Test.createTestingModule({
    providers: [Articles, { provide: ReadRewardService, useValue: { record } }],
  }).compile();
  expect(await module.get(Articles).read('u1', 'a1')).toBe(5);
  expect(record).toHaveBeenCalledWith({ rule: 'articles', userId: 'u1', itemId: 'a1' });
});
