import { setImmediate as turn } from 'node:timers/promises';
import { Capacity } from '../src';

describe('slots', () => {
  it('are granted up to what is free, and then in order', async () => {
    const capacity = new Capacity(5);
    expect([capacity.reserve(3), capacity.reserve(3)]).toEqual([3, 2]);
    const granted: number[] = [];
    for (const most of [2, 3]) void Promise.resolve(capacity.reserve(most)).then((slots) => granted.push(slots));
    capacity.release(1);
    await Promise.resolve();
    expect(granted).toEqual([]);
    capacity.release(1);
    await turn();
    await turn();
    expect(granted).toEqual([2]);
    capacity.release(3);
    await Promise.resolve();
    expect(granted).toEqual([2, 3]);
    capacity.release(1);
    expect(capacity.reserve(9)).toBe(1);
  });

  it('are all granted that become free in one turn', async () => {
    const capacity = new Capacity(3);
    expect(capacity.reserve(3)).toBe(3);
    const waiting = capacity.reserve(9);
    for (let i = 0; i < 3; i++) capacity.release(1);
    expect(await waiting).toBe(3);
    const [one, two] = [capacity.reserve(2), capacity.reserve(2)];
    capacity.release(3);
    expect([await one, await two]).toEqual([2, 1]);
  });

  it('go first to those who waited first', async () => {
    const capacity = new Capacity(2);
    expect(capacity.reserve(2)).toBe(2);
    const first = capacity.reserve(9);
    capacity.release(1);
    const second = capacity.reserve(1);
    capacity.release(1);
    expect(await first).toBe(2);
    capacity.release(4);
    expect([await second, capacity.reserve(9)]).toEqual([1, 3]);
  });

  it('are not granted any more once it is closed', async () => {
    const capacity = new Capacity(1);
    expect(capacity.reserve(1)).toBe(1);
    const waiting = capacity.reserve(1);
    capacity.close();
    expect(await waiting).toBe(0);
    capacity.release(1);
    expect(capacity.reserve(1)).toBe(0);
  });

  it('that become free are reported if nobody waits for them', async () => {
    let freed = 0;
    const capacity = new Capacity(2, () => void (freed += 1));
    expect([capacity.grab(5), capacity.free, capacity.grab(1)]).toEqual([2, 0, 0]);
    capacity.release(1);
    expect([capacity.free, freed]).toEqual([1, 1]);
    expect(capacity.reserve(1)).toBe(1);
    const waiting = capacity.reserve(1);
    capacity.release(1);
    expect([await waiting, freed]).toEqual([1, 1]);
  });
});
