import { check } from '../checker/check';
import { ANYBODY, OnceModel, type OnceOperation } from '../models/once';

/** Checks operations that follow each other. */
function verdictOf(...operations: Pick<OnceOperation, 'id' | 'input' | 'output'>[]) {
  const timed = operations.map((one, at): OnceOperation => {
    const end = one.output === undefined && one.input.op === 'claim' ? Infinity : 2 * at + 1;
    return { ...one, call: 2 * at, return: end };
  });
  return check(new OnceModel({ leasesEnd: false, delivery: 'at-least-once' }), timed);
}

const first = { id: 'w1', input: { op: 'claim' }, output: { status: 'claimed', fence: 1 } } as const;
const release = { id: 'r1', input: { op: 'release', of: 'w1' } } as const;
const unknown = { id: 'u', input: { op: 'claim', owner: ANYBODY } } as const;
const seen = { id: 'p', input: { op: 'peek' }, output: { status: 'in-progress', fence: 2 } } as const;
const next = { id: 'w2', input: { op: 'claim' }, output: { status: 'claimed', fence: 3 } } as const;
const again = { id: 'r2', input: { op: 'release', of: 'w1' } } as const;

describe('a release that is sent twice', () => {
  it('is lost if two owners have claimed the id since, also if nobody knows the outcome of the first of these claims', () => {
    const lost = { ...again, output: { status: 'lost' } } as const;
    const released = { ...release, output: { status: 'released' } } as const;
    expect(verdictOf(first, released, unknown, seen, next, lost)).toMatchObject({ result: 'linearizable' });
  });

  it('succeeds if one owner has claimed the id since', () => {
    const released = { ...release, output: { status: 'released' } } as const;
    expect(verdictOf(first, released, next, { ...again, output: { status: 'released' } })).toMatchObject({
      result: 'linearizable',
    });
    expect(verdictOf(first, released, next, { ...again, output: { status: 'lost' } })).not.toMatchObject({
      result: 'linearizable',
    });
  });
});
