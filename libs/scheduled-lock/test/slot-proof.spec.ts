import { proveSlots } from './slot-proof';
import type { ClaimRecord, NodeRecord } from './slot-records';

const PERIOD_MS = 200;

function nodeOf(name: string, records: Partial<NodeRecord>): NodeRecord {
  const none = { stops: [], stalls: [], fires: [], outcomes: [], runs: [] };
  return { name, readyAt: 0, endedAt: Infinity, killed: false, ...none, ...records };
}

/** Proves the slot at 400 ms, in which the timer of p1 fires. It looks for the lock, which p2 has, until p2 claims the slot at 600 ms. */
function prove(holder: Partial<NodeRecord>, lockEndedAt: number | undefined) {
  const waiting = nodeOf('p1', {
    fires: [{ job: 'every', id: 1, at: 429 }],
    outcomes: [{ job: 'every', id: 1, status: 'skipped-slot', slot: 400, at: 603 }],
  });
  const other = nodeOf('p2', {
    ...holder,
    runs: [{ job: 'every', slot: 600, at: 601 }],
    fires: [{ job: 'every', id: 1, at: 350 }],
    readyAt: 410,
  });
  const claims: ClaimRecord[] = [
    { job: 'every', node: 'p2', slot: 200, since: 350, endedAt: lockEndedAt },
    { job: 'every', node: 'p2', slot: 600, since: 600, endedAt: undefined },
  ];
  return proveSlots('every', PERIOD_MS, [waiting, other], claims, [400, 600]);
}

describe('a slot that nobody claimed, whose tick looked for the lock until its end', () => {
  it('is explained by the lock of a process that was stopped until then', () => {
    const { missing, unexplained } = prove({ stops: [[360, 590]] }, 595);
    expect([...missing]).toEqual([[400, 'the lock of a killed or stopped process lasted']]);
    expect(unexplained).toEqual([]);
  });

  it('is not explained if that process ran', () => {
    expect(prove({}, 595).unexplained).toHaveLength(1);
  });

  it('is not explained if the lock was free long before', () => {
    expect(prove({ stops: [[360, 440]] }, 450).unexplained).toHaveLength(1);
  });
});
