import { LeaseBook } from '../../internal/src';
import { Calls } from '../../worker/src';
import { Reader } from '../src/consumer/reader';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { Session } from '../src/consumer/session';

describe('the lease of a session', () => {
  const time = new ManualTime();

  function open(replies: (boolean | Error)[]) {
    const sent: number[] = [];
    const losses: string[] = [];
    const failures: unknown[] = [];
    const owner = {
      renew: (): Promise<boolean> => {
        sent.push(time.now);
        const reply = replies.shift() ?? true;
        return reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply);
      },
      rest: () => undefined,
      lose: (_: Session, reason: string) => void losses.push(reason),
    };
    const book = new LeaseBook<Session>({
      renew: async ([session]) => ((await owner.renew()) ? [] : [session as Session]),
      renewalFailed: (_, error) => void failures.push(error),
    });
    const session = new Session(owner, 3_000);
    const suspected: string[] = [];
    session.messages.set('1-0', { suspect: (reason: string) => void suspected.push(reason) } as never);
    book.add(session);
    return { sent, losses, failures, suspected };
  }

  it('is renewed again soon after a renewal that failed, not after a whole period', async () => {
    const { sent, failures, losses } = open([new Error('no reply')]);
    await time.pass(1_300);
    expect([sent.length, failures.length, losses]).toEqual([2, 1, []]);
    expect((sent[1] ?? Infinity) - (sent[0] ?? 0)).toBeLessThanOrEqual(225);
  });

  it('is lost when Redis does not have it', async () => {
    const { losses } = open([false]);
    await time.pass(1_000);
    await turn();
    expect(losses).toEqual(['another consumer took over its lease, Redis lost the lease, or the group was deleted']);
  });

  it('that has ended by the clock fires the signals of its messages, and is still renewed', async () => {
    const { sent, losses, suspected } = open(Array.from({ length: 40 }, () => new Error('no reply')));
    await time.pass(3_000);
    expect([suspected, losses]).toEqual([['its lease could not be renewed in time'], []]);
    const before = sent.length;
    await time.pass(500);
    expect(sent.length).toBeGreaterThan(before);
  });

  it('that has ended when the reply to a take comes has fired the signals of the messages', async () => {
    const entry = { id: '1-0', payload: '1', key: '', operation: '', attempt: 1, returned: 0, firstSeenMs: 5 };
    const answer = {
      state: 'taken',
      more: false,
      blocked: false,
      dueInMs: Infinity,
      endInMs: Infinity,
      entries: [entry],
    };
    let reply = (_: unknown): void => undefined;
    const registry = {
      run: () => new Promise((resolve) => (reply = resolve)),
      listen: () => new Promise(() => undefined),
    };
    const leases = new LeaseBook<Session>({ renew: () => Promise.resolve([]), renewalFailed: () => undefined });
    const owner = { calls: new Calls(() => undefined), leases, changed: () => undefined, forget: () => undefined };
    const partition = { index: 0, of: () => ({ woken: 'woken' }) };
    const options = { stream: 's', group: 'g', leaseMs: 3_000, ordered: false, pollMs: 500 };
    const reader = new Reader(registry as never, {} as never, partition as never, options as never, owner, 'start');
    const taking = reader.take(1, () => false);
    await turn();
    await time.pass(3_001);
    reply(answer);
    const [message] = await taking;
    expect(message?.signal.aborted).toBe(true);
  });
});
