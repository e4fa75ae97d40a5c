import { GroupPace } from '../src/pipe/pace';

describe('the size of groups', () => {
  it('starts at 16 calls, or less if fewer are allowed', () => {
    expect(new GroupPace(128).calls).toBe(16);
    expect(new GroupPace(15).calls).toBe(15);
    expect(new GroupPace(128).crowded).toBe(true);
  });

  it('grows by at most 4 with each reply within 5 ms, to what fits in 5 ms', () => {
    const pace = new GroupPace(1_000);
    pace.answered(16, 0, 1);
    // 1/16 ms a call: 80 would fit.
    expect(pace.calls).toBe(64);
    pace.answered(64, 0, 2);
    expect(pace.calls).toBe(160);
    pace.answered(10, 0, 5);
    expect(pace.calls).toBe(160);
    const small = new GroupPace(20);
    small.answered(1, 0, 0.01);
    expect(small.calls).toBe(20);
    small.answered(1, 0, 4);
    expect(small.calls).toBe(20);
  });

  it('stays after a slow reply, until the group was measured', () => {
    const pace = new GroupPace(1_000);
    expect(pace.measures(16, 0)).toBe(false);
    pace.answered(16, 0, 5);
    expect(pace.measures(16, 0)).toBe(false);
    pace.answered(16, 0, 5.1);
    expect([pace.calls, pace.measures(1, 6)]).toEqual([16, false]);
    expect([pace.measures(16, 6), pace.measures(16, 105.9), pace.measures(16, 106)]).toEqual([true, false, true]);
    pace.measured(16, 10);
    expect([pace.calls, pace.measures(16, 1_000)]).toEqual([10, false]);
  });

  it('follows what it measures: at once to quicker calls, by half to slower ones', () => {
    const pace = new GroupPace(1_000);
    pace.measured(10, 10);
    expect(pace.calls).toBe(5);
    pace.measured(5, 2.5);
    expect(pace.calls).toBe(10);
    pace.measured(10, 15);
    expect(pace.calls).toBe(5);
    pace.measured(1, 100);
    expect(pace.calls).toBe(1);
    pace.answered(1, 0, 9);
    expect(pace.measures(1, 0)).toBe(true);
    pace.measured(1, 0.001);
    expect(pace.calls).toBe(4);
  });

  it('is measured as it is, if quick replies came to groups of the largest size', () => {
    const pace = new GroupPace(16);
    pace.answered(16, 0, 0.16);
    pace.measured(16, 16);
    expect(pace.calls).toBe(5);
  });

  it('is not limited by time for a user who may not send TIME', () => {
    const pace = new GroupPace(1_000);
    pace.answered(16, 0, 9);
    expect(pace.measures(16, 0)).toBe(true);
    pace.measured(16, undefined);
    expect(pace.calls).toBe(1_000);
    pace.answered(16, 0, 9);
    expect(pace.measures(16, 1_000_000)).toBe(false);
  });

  it('counts as crowded while a reply takes more than twice the fastest of the last 10 s', () => {
    const pace = new GroupPace(1_000);
    pace.answered(1, 0, 2);
    expect(pace.crowded).toBe(false);
    pace.answered(1, 10, 14);
    expect(pace.crowded).toBe(false);
    pace.answered(1, 10, 14.5);
    expect(pace.crowded).toBe(true);
    pace.answered(1, 100, 101);
    expect(pace.crowded).toBe(false);
    pace.answered(1, 10_098, 10_101);
    expect(pace.crowded).toBe(true);
    pace.answered(1, 10_098.5, 10_101.5);
    expect(pace.crowded).toBe(false);
    pace.answered(1, 10_200, 10_206);
    expect(pace.crowded).toBe(false);
  });

  it('remembers the fastest reply for 10 s since it last came', () => {
    const pace = new GroupPace(1_000);
    pace.answered(1, 0, 2);
    pace.answered(1, 9_000, 9_002);
    pace.answered(1, 12_000, 12_005);
    expect(pace.crowded).toBe(true);
  });
});
