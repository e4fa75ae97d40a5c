import { Test, type TestingModule } from '@nestjs/testing';
import { DelayedTaskModule } from 'luanest/delayed-task';
import { type CloseResult, RedPacketModule, RedPacketPayouts, RedPacketService } from 'luanest/red-packet';
import { deadLetter, type HandlerResult, StreamConsumerModule } from 'luanest/stream-consumer';
import { LuanestTesting, LuanestTestingModule } from 'luanest/testing';

const HOUR = 3_600_000;

class AdminGuard {
  canActivate(): boolean {
    return true;
  }
}

let app: TestingModule;
let testing: LuanestTesting;
let packets: RedPacketService;
const closed: CloseResult[] = [];
/** Outcomes of the handler, by user. Default: it pays. */
const answers = new Map<string, () => HandlerResult>();
const paid: string[] = [];

beforeEach(async () => {
  app = await Test.createTestingModule({
    imports: [
      LuanestTestingModule.forRoot(),
      DelayedTaskModule.forRoot(),
      StreamConsumerModule.forRoot(),
      RedPacketModule.forRoot({
        identity: () => 'ann',
        adminGuard: AdminGuard,
        onClosed: (activity) => void closed.push(activity),
      }),
    ],
  }).compile();
  app.useLogger(false);
  await app.init();
  testing = app.get(LuanestTesting);
  packets = app.get(RedPacketService);
  for (const seen of [closed, paid]) seen.length = 0;
  answers.clear();
});
afterEach(() => app.close());

async function create(activityId: string, count = 4): Promise<void> {
  const startsAtMs = testing.clock.nowMs;
  await packets.create({
    activityId,
    totalCents: 100 * count,
    packets: count,
    startsAtMs,
    endsAtMs: startsAtMs + HOUR,
  });
}

function pay(): void {
  app.get(RedPacketPayouts).run(({ userId }) => {
    const answer = answers.get(userId);
    if (answer) return answer();
    paid.push(userId);
    return undefined;
  });
}

it('grabs are recorded', async () => {
  await create('a', 1);
  await packets.grab('a', 'ann');
  await packets.grab('a', 'bob');
  await packets.grab('b', 'ann');
  expect(testing.packets.grabbed).toMatchObject([
    { activityId: 'a', userId: 'ann', status: 'won', packet: { packetId: '1', amountCents: 100 } },
    { activityId: 'a', userId: 'bob', status: 'sold-out' },
    { activityId: 'b', userId: 'ann', status: 'not-open', reason: 'unknown' },
  ]);
  testing.clear();
  expect(testing.packets.grabbed).toEqual([]);
});

it('payOut pays the winners at once, and returns the outcomes', async () => {
  pay();
  await create('a', 5);
  await create('other');
  for (const user of ['ann', 'bob', 'cid']) await packets.grab('a', user);
  await packets.grab('other', 'ann');
  const down = new Error('ledger is down');
  answers.set('bob', () => {
    throw down;
  });
  answers.set('cid', () => deadLetter('no account'));
  const rest = { activityId: 'a', attempt: 1, error: undefined, reason: '', delayMs: undefined };
  const outcomes = await testing.payOut('a');
  expect(outcomes).toHaveLength(3);
  expect(outcomes).toEqual(
    expect.arrayContaining([
      { ...rest, ...won('ann'), status: 'paid' },
      { ...rest, ...won('bob'), status: 'retried', error: down, delayMs: expect.any(Number) as number },
      { ...rest, ...won('cid'), status: 'dead', reason: 'no account' },
    ]),
  );
  expect(testing.clock.nowMs).toBe(Date.UTC(2026, 0, 1));
  // Winners that come while the outbox is read are paid at once, too.
  await packets.grab('a', 'dan');
  await expect(testing.payOut('a')).resolves.toMatchObject([{ userId: 'dan', status: 'paid' }]);
  await expect(testing.payOut('a')).resolves.toEqual([]);
  answers.clear();
  await testing.clock.advance(10 * 60_000);
  await testing.drain();
  expect(testing.packets.payouts.slice(-2)).toEqual(
    expect.arrayContaining([expect.objectContaining({ userId: 'bob', attempt: 2, status: 'paid' })]),
  );
  expect(paid.sort()).toEqual(['ann', 'ann', 'bob', 'dan']);
});

function won(userId: string): { userId: string; packetId: string; amountCents: number } {
  const grab = testing.packets.grabbed.find((each) => each.activityId === 'a' && each.userId === userId);
  if (grab?.status !== 'won') throw new Error(`${userId} did not win`);
  return { userId, packetId: grab.packet.packetId, amountCents: grab.packet.amountCents };
}

it('drain pays the winners of all activities, and closes those that have ended', async () => {
  pay();
  for (const activity of ['a', 'b']) {
    await create(activity);
    await packets.grab(activity, 'ann');
  }
  await testing.drain();
  expect(testing.packets.payouts.map(({ activityId, status }) => `${activityId} ${status}`).sort()).toEqual([
    'a paid',
    'b paid',
  ]);
  await packets.grab('b', 'bob');
  await testing.clock.advance(HOUR);
  await testing.drain();
  expect(closed.map(({ activityId, refundedPackets }) => [activityId, refundedPackets]).sort()).toEqual([
    ['a', 3],
    ['b', 2],
  ]);
  await expect(packets.status('b')).resolves.toMatchObject({ state: 'closed', openPayouts: 0 });
});

it('payOut is refused without a payout run', async () => {
  await expect(testing.payOut('a')).rejects.toThrow(
    'payOut(): The app does not pay winners. Call RedPacketPayouts.run() with a handler first.',
  );
  await app.close();
  app = await Test.createTestingModule({ imports: [LuanestTestingModule.forRoot()] }).compile();
  await app.init();
  await expect(app.get(LuanestTesting).payOut('a')).rejects.toThrow(
    'payOut() needs RedPacketPayouts. Import RedPacketModule in the app of the test',
  );
});
