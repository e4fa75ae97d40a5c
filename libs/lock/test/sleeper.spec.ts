import { Sleeper } from '../src/locks/wait-queue';
import { ManualTime } from '../../../test/support/manual-time';
import { stateOf } from '../../../test/support/replies';

describe('a sleep', () => {
  const time = new ManualTime();

  it('takes its time, and leaves no timer', async () => {
    const sleep = new Sleeper().sleep(50);
    await time.pass(49);
    expect(await stateOf(sleep)).toBe('pending');
    await time.pass(1);
    expect([await stateOf(sleep), time.running]).toEqual([undefined, []]);
  });

  it('ends when it is woken', async () => {
    const sleeper = new Sleeper();
    const sleep = sleeper.sleep(50);
    sleeper.wake();
    expect([await stateOf(sleep), time.running]).toEqual([undefined, []]);
    expect(await stateOf(sleeper.sleep(50))).toBe('pending');
  });

  it('does not begin if it was woken before', async () => {
    const sleeper = new Sleeper();
    sleeper.wake();
    expect([await stateOf(sleeper.sleep(50)), time.running]).toEqual([undefined, []]);
    expect(await stateOf(sleeper.sleep(50))).toBe('pending');
  });
});
