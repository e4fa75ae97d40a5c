import { explore, replayed, SAME_ON_REDIS } from '../job';
import { scenarios } from '../scenarios';
import { lock } from '../protocols/lock';
import { acquireLock } from '../../../libs/lock/src/lock.scripts';
import { variant } from './seeded';
import { size } from '../../../test/support/size';
import type { Protocol } from '../engine/protocol';

const STATES = size(30, 200);

describe('the explorer', () => {
  it.each(scenarios.map((protocol) => [`${protocol.name}, ${protocol.scenario}`, protocol] as const))(
    'finds no violation in the first states of %s, and the same replies and keys on a real Redis',
    async (_name, protocol) => {
      const { violations, states, compared } = await explore(protocol, { states: STATES });
      expect(violations).toEqual([]);
      expect(states).toBeGreaterThan(STATES / 2);
      if (process.platform === 'linux') expect(compared).toBeGreaterThan(0);
    },
  );

  const onLinux = process.platform === 'linux' ? it : it.skip;
  onLinux('prints a counter-example that can be replayed, with the same result on a real Redis', async () => {
    const passes = variant(acquireLock, ["if sub(raw, 14, 14) == '1' then return { fence, -1 } end", '']);
    const settings = {
      scenario: 'seeded',
      processes: { A: 'waits', B: 'waits' },
      rounds: 2,
      budgets: { time: 2, lost: 1 },
      depth: 9,
    } as const;
    const seeded = { ...lock(settings), replaced: [passes] } as unknown as Protocol;
    const { violations } = await explore(seeded, {});
    const [found] = violations;
    expect(found?.onRedis).toBe(SAME_ON_REDIS);
    const lines = await replayed(seeded, found as NonNullable<typeof found>);
    expect(lines.at(-1)).toBe(`On a real Redis: ${SAME_ON_REDIS}`);
    expect(lines.slice(1, -3)).toHaveLength(found?.moves.length ?? 0);
  });
});
