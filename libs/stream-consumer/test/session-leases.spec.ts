import { LeaseBook } from '../../internal/src';
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
    expect(losses).toEqual(['the lease of this consumer was taken over, Redis lost it, or the group was deleted']);
  });

  it('that has ended by the clock fires the signals of its messages, and is still renewed', async () => {
    const { sent, losses, suspected } = open(Array.from({ length: 40 }, () => new Error('no reply')));
    await time.pass(3_000);
    expect([suspected, losses]).toEqual([['the lease could not be renewed in time'], []]);
    const before = sent.length;
    await time.pass(500);
    expect(sent.length).toBeGreaterThan(before);
  });
});
