import { FAULTS, type FaultKind } from '../record/faults';
import { randomOf } from '../record/random';
import { Rig } from '../record/rig';
import { checkHistory } from '../check-history';
import { subjects } from '../subjects';

describe('histories of several processes', () => {
  it('are linearizable under all faults', async () => {
    const rig = await Rig.open({ subjects: subjects.map(({ name }) => name), workers: 2 });
    try {
      const plans = subjects.flatMap(({ name, flavours }) =>
        flavours.map((flavour, n) => ({ key: `${name}-${flavour}`, subject: name, flavour, resend: n % 2 === 1 })),
      );
      const made: FaultKind[] = [];
      const batch = { plans, clients: 3, rounds: 4, roundMs: 250, calls: 3, seed: 7 };
      const recorded = await rig.record(batch, FAULTS, randomOf(7), (kind) => made.push(kind));
      expect(made.sort()).toEqual([...FAULTS].sort());
      for (const plan of plans) {
        const { problem, operations } = checkHistory(plan, recorded.get(plan.key) ?? []);
        expect({ plan, problem }).toEqual({ plan, problem: undefined });
        expect(operations).toBeGreaterThan(40);
      }
      // A search that ends before it is decided is a problem, not a pass.
      const problems = plans.map(
        (plan) => checkHistory(plan, recorded.get(plan.key) ?? [], [{ configurations: 1 }]).problem,
      );
      expect(problems).toContainEqual(expect.stringMatching(/undecided/));
    } finally {
      await rig.close();
    }
  }, 90_000);
});
