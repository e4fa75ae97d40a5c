import { setImmediate as turn } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { RedPacketService } from 'luanest/red-packet';
import type { AccountsService } from '../../src/monitoring/audit/accounts.service';
import { AuditJob } from '../../src/monitoring/audit/audit.job';
import type { Books, BooksService } from '../../src/monitoring/audit/books.service';
import { CountService } from '../../src/monitoring/audit/count.service';

const ids = Array.from({ length: 30 }, (_, i) => `rain-${i}`);
const packets = { activities: () => Promise.resolve([...ids]) } as unknown as RedPacketService;
const counts = {} as CountService;
const accounts = {} as AccountsService;

/** Books that add up, except for a total that is wrong. */
function booksOf(activityId: string, totalCents = 0): Books {
  const status = { activityId, activityKey: activityId, state: 'draft', totalCents, packets: 0, createdAtMs: 1 };
  const problems = totalCents === 0 ? [] : ['a cent is missing'];
  return { status, audit: { problems }, ledger: undefined, unbookedMs: 0 } as unknown as Books;
}

it('reads several rains at once, and not all of them', async () => {
  let reading = 0;
  let most = 0;
  const read = async (activityId: string): Promise<Books> => {
    most = Math.max(most, (reading += 1));
    for (let i = 0; i < 5; i += 1) await turn();
    reading -= 1;
    return booksOf(activityId);
  };
  await new AuditJob(packets, { read } as BooksService, counts, accounts).readAll();
  expect(most).toBe(8);
});

it('a rain that cannot be read does not hide the faults of the others', async () => {
  const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  const read = (activityId: string): Promise<Books> =>
    activityId === 'rain-3' ? Promise.reject(new Error('no answer')) : Promise.resolve(booksOf(activityId, 1));
  const job = new AuditJob(packets, { read } as BooksService, counts, accounts);
  await expect(job.readAll()).rejects.toThrow('no answer');
  expect(logged.mock.calls.map(([line]) => String(line))).toHaveLength(29);
  logged.mockRestore();
});

it('logs a rain whose id has line breaks and colours in one plain line', async () => {
  const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  const id = 'a\n[Nest] 1 - ERROR [Forged] \x1b[31mred';
  const one = { activities: () => Promise.resolve([id]) } as unknown as RedPacketService;
  const read = (activityId: string): Promise<Books> => Promise.resolve(booksOf(activityId, 1));
  await new AuditJob(one, { read } as BooksService, counts, accounts).readAll();
  const lines = logged.mock.calls.map(([line]) => String(line));
  logged.mockRestore();
  expect(lines).toEqual([expect.stringContaining('[Forged]')]);
  expect(lines[0]).not.toMatch(/\p{Cc}/u);
});

it('refuses to count a draft, and stores nothing', async () => {
  const status = (): Promise<object> => Promise.resolve({ activityKey: 'k' });
  const audit = (): Promise<object> => Promise.resolve({ ok: true, problems: [] });
  const lock = { fence: 1, assertHeld: () => undefined };
  const locks = { withLock: (_name: string, _options: object, work: (held: object) => unknown) => work(lock) };
  const records = { note: jest.fn() };
  const ledger = { payouts: () => Promise.resolve(undefined) };
  const service = new CountService(
    { status, audit } as never,
    ledger as never,
    locks as never,
    records as never,
    {} as never,
    {} as never,
  );
  await expect(service.count('a', 0)).rejects.toMatchObject({ status: 409, response: { code: 'COUNT_OF_DRAFT' } });
  expect(records.note).not.toHaveBeenCalled();
});
