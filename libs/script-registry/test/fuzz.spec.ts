import { Redis } from 'ioredis';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ScriptRegistryEvents } from 'luanest/script-registry';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { describeProgram, differences, smallest, type Difference, type Stages } from './fuzz/differential';
import { generate } from './fuzz/generator';
import { quiet } from './support';
import { size } from '../../../test/support/size';

/**
 * LUANEST_FUZZ=100000 runs so many scripts, LUANEST_LONG=1 runs 50,000, LUANEST_FUZZ_SEED=n begins with seed n. For 100,000:
 * `LUANEST_FUZZ=100000 npx jest -w 1 libs/script-registry/test/fuzz.spec.ts`
 */
const SCRIPTS = Number(process.env.LUANEST_FUZZ ?? size(100, 50_000));
const SEED = Number(process.env.LUANEST_FUZZ_SEED ?? Date.now() % 1_000_000_000);
const BATCH = 250;

describe('random scripts', () => {
  let servers: RedisServer[];
  let stages: Stages;

  beforeAll(async () => {
    servers = await Promise.all([1, 2, 3].map(() => startRedis({ args: ['--save', ''] })));
    const [plain, alone, grouped] = servers.map(({ url }) => quiet(new Redis(url)));
    stages = { plain, alone, grouped } as unknown as Stages;
  });

  afterAll(async () => {
    for (const client of Object.values(stages) as Redis[]) client.disconnect();
    await Promise.all(servers.map((server) => server.stop()));
  });

  it(
    'give the same replies, errors and keys as EVAL, alone and in groups',
    async () => {
      let inGroups = 0;
      const count = (event: unknown): void => {
        const { calls } = event as ScriptRegistryEvents['groupSent'];
        if (calls > 1) inGroups += calls;
      };
      subscribe(ScriptRegistryEvents.groupSent, count);
      const found: [seed: number, difference: Difference][] = [];
      for (let from = 0; from < SCRIPTS && found.length === 0; from += BATCH) {
        const programs = Array.from({ length: Math.min(BATCH, SCRIPTS - from) }, (_, i) => generate(SEED + from + i));
        for (const difference of await differences(stages, programs)) {
          found.push([SEED + from + programs.indexOf(difference.program), difference]);
        }
      }
      unsubscribe(ScriptRegistryEvents.groupSent, count);
      const [[seed, first] = []] = found;
      if (first !== undefined) {
        const small = await smallest(stages, first);
        throw new Error(
          `${found.length} scripts differ; LUANEST_FUZZ_SEED=${seed}, made smaller:\n${describeProgram(small)}`,
        );
      }
      // Without groups there would be nothing to compare.
      expect(inGroups).toBeGreaterThan(SCRIPTS * 2);
    },
    SCRIPTS * 40 + 60_000,
  );
});
