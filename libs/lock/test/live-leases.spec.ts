import type { Lease } from '../src/lease/lease';
import { LiveLeases } from '../src/lease/live-leases';
import { ManualTime } from '../../../test/support/manual-time';

describe('the leases of a process', () => {
  const time = new ManualTime();
  const watched: string[] = [];
  const leaseOf = (name: string, watch: () => void = () => void watched.push(name)): Lease =>
    ({ name, watch }) as never;
  beforeEach(() => void watched.splice(0));

  it('get their timers from one timer, 250 ms after the first of them', async () => {
    const leases = new LiveLeases();
    expect(leases.watchWithinMs).toBe(1_000);
    leases.add(leaseOf('a'));
    time.now += 100;
    leases.add(leaseOf('b'));
    expect([time.running, time.keepsProcess]).toEqual([[250], false]);
    await time.pass(149);
    expect(watched).toEqual([]);
    await time.pass(1);
    expect([watched, time.running]).toEqual([['a', 'b'], []]);
  });

  it('are called once each', async () => {
    const leases = new LiveLeases();
    leases.add(leaseOf('a'));
    await time.pass(250);
    leases.add(leaseOf('b'));
    await time.pass(250);
    expect(watched).toEqual(['a', 'b']);
  });

  it('are listed until they are removed, before and after the call', async () => {
    const leases = new LiveLeases();
    expect(leases.empty).toBe(true);
    const [a, b, c] = [leaseOf('a'), leaseOf('b'), leaseOf('c')] as const;
    for (const lease of [a, b]) leases.add(lease);
    leases.remove(b);
    expect([...leases]).toEqual([a]);
    await time.pass(250);
    expect([watched, leases.empty]).toEqual([['a'], false]);
    leases.add(c);
    expect([...leases]).toEqual([c, a]);
    leases.remove(a);
    expect([[...leases], leases.empty]).toEqual([[c], false]);
    leases.remove(a);
    leases.remove(c);
    expect([[...leases], leases.empty]).toEqual([[], true]);
  });

  it('may remove themselves when they are called', async () => {
    const leases = new LiveLeases();
    const one = leaseOf('a', () => leases.remove(one));
    leases.add(one);
    await time.pass(250);
    expect(leases.empty).toBe(true);
  });
});
