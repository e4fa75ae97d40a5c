import fc from 'fast-check';
import type { Delivery } from '../src/once.types';
import { claimed, openBench, servers, type Bench } from './support';
import { size } from '../../../test/support/size';

const terms = { leaseMs: 600_000, retentionMs: 600_000 };

type Call =
  | { readonly verb: 'claim'; readonly actor: number; readonly delivery: Delivery }
  | { readonly verb: 'renew' | 'release' | 'confirm'; readonly actor: number };
type Command = Call | { readonly verb: 'expire' } | { readonly verb: 'forget' };

interface Model {
  state: 'free' | 'claimed' | 'done';
  owner: number | undefined;
  live: boolean;
  delivery: Delivery;
  /** Who confirmed, and the result. */
  result: string | undefined;
  /** Token of the last release, so that its replay gets the same result. */
  released: number | undefined;
  /** Token of the release before the last one: its replay gets the same result, too, until the next claim. */
  before: number | undefined;
  fence: number;
}

const fresh = (): Model => ({
  state: 'free',
  owner: undefined,
  live: false,
  delivery: 'at-least-once',
  result: undefined,
  released: undefined,
  before: undefined,
  fence: 0,
});

/** Computes the replies that the scripts must give, and changes the model. */
function step(model: Model, command: Command, at: number): string {
  if (command.verb === 'expire') {
    model.live = false;
    return '';
  }
  if (command.verb === 'forget') {
    Object.assign(model, { ...fresh(), fence: model.fence });
    return '';
  }
  const { actor } = command;
  const owns = model.state === 'claimed' && model.owner === actor && model.live;
  if (command.verb === 'claim') {
    if (model.state === 'done') return `done ${String(model.result)}`;
    if (model.state === 'claimed' && model.live) return owns ? 'claimed' : 'in-progress';
    if (model.state === 'claimed' && model.delivery === 'at-most-once') return 'done undefined';
    Object.assign(model, { state: 'claimed', owner: actor, live: true, delivery: command.delivery, before: undefined });
    return 'claimed';
  }
  if (command.verb === 'renew') return owns ? 'renewed' : 'lost';
  if (command.verb === 'confirm') {
    if (model.state === 'done' && model.owner === actor) return 'confirmed';
    if (!owns) return 'lost';
    Object.assign(model, { state: 'done', result: `by ${actor} at ${at}` });
    return 'confirmed';
  }
  if (owns) {
    Object.assign(model, { state: 'free', owner: undefined, released: actor, before: model.released });
    return 'released';
  }
  const mine = model.owner === actor && model.state !== 'free';
  return (model.released === actor || model.before === actor) && !mine ? 'released' : 'lost';
}

const actor = fc.integer({ min: 0, max: 2 });
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ verb: fc.constant('claim' as const), actor, delivery: deliveries() }) },
  { weight: 6, arbitrary: fc.record({ verb: fc.constantFrom('renew', 'release', 'confirm'), actor }) },
  { weight: 2, arbitrary: fc.constant({ verb: 'expire' as const }) },
  { weight: 1, arbitrary: fc.constant({ verb: 'forget' as const }) },
);

function deliveries(): fc.Arbitrary<Delivery> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.constant<Delivery>('at-least-once') },
    { weight: 1, arbitrary: fc.constant<Delivery>('at-most-once') },
  );
}

describe.each(servers)('random orders of calls on %s', (_name, client) => {
  let bench: Bench;
  let ids = 0;
  beforeAll(async () => {
    bench = await openBench(client());
  });
  afterAll(() => bench.close());

  async function call(id: string, given: Call, at: number, model: Model) {
    const token = `actor-${given.actor}`;
    if (given.verb !== 'claim') {
      const result = given.verb === 'confirm' ? `by ${given.actor} at ${at}` : undefined;
      return (await bench.once[given.verb](id, token, result as never)).status;
    }
    const answer = await bench.once.claim(id, { ...terms, token, delivery: given.delivery });
    if (answer.status === 'done') return `done ${String(answer.result)}`;
    if (answer.status === 'claimed') {
      const { fence } = claimed(answer);
      // The same token gets the same fence; every other claim gets a higher one.
      if (fence < model.fence) throw new Error(`fence ${fence} after ${model.fence}`);
      model.fence = fence;
    }
    return answer.status;
  }

  it('reply as the model does, change nothing if they refuse, and leave no key without a TTL', async () => {
    const sequences = fc.array(command, { minLength: 1, maxLength: 25 });
    const property = fc.asyncProperty(sequences, async (commands) => {
      const id = `model ${(ids += 1)}`;
      const model = fresh();
      for (const [at, given] of commands.entries()) {
        const before = await bench.raw.get(bench.keyOf(id));
        const want = step(model, given, at);
        if (given.verb === 'expire') await bench.expire(id);
        else if (given.verb === 'forget') await bench.raw.del(bench.keyOf(id));
        else expect([at, await call(id, given, at, model)]).toEqual([at, want]);
        const refused = want === 'lost' || want === 'in-progress' || want.startsWith('done');
        if (refused) expect(await bench.raw.get(bench.keyOf(id))).toBe(before);
        expect(await bench.raw.pttl(bench.keyOf(id))).not.toBe(-1);
      }
    });
    await fc.assert(property, { numRuns: size(15, 400) });
  }, 180_000);
});
