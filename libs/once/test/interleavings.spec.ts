import { LONG } from '../../../test/support/size';
import { claimed, openBench, servers, type Bench } from './support';

/**
 * Every order of three actors' steps and of the end of a lease, run against the real scripts. A small model says who
 * owns the id: only the owner's calls may change the key, and each answer is the model's.
 */
const FIRST = ['renew', 'confirm', 'release'] as const;
type Verb = 'claim' | (typeof FIRST)[number];
type Step = { readonly actor: number; readonly verb: Verb } | 'expire';

/** All ways to put lists together without changing the order within one. */
function* interleave(lists: readonly (readonly Step[])[]): Generator<Step[]> {
  if (lists.every((list) => list.length === 0)) yield [];
  for (const [i, list] of lists.entries()) {
    const [head, ...rest] = list;
    if (head === undefined) continue;
    for (const tail of interleave(lists.map((other, j) => (i === j ? rest : other)))) yield [head, ...tail];
  }
}

function* schedules(): Generator<Step[]> {
  for (const a of FIRST) {
    for (const b of FIRST) {
      for (const c of FIRST) {
        const actors = [a, b, c].map((verb, actor): Step[] => [
          { actor, verb: 'claim' },
          { actor, verb },
        ]);
        yield* interleave([...actors, ['expire']]);
      }
    }
  }
  // A chain in which every actor renews and then ends its claim, with two leases ending.
  for (const end of ['confirm', 'release'] as const) {
    const long = (actor: number): Step[] => [
      { actor, verb: 'claim' },
      { actor, verb: 'renew' },
      { actor, verb: end },
    ];
    yield* interleave([long(0), long(1), ['expire', 'expire']]);
  }
}

/** True if the actors claim in the order of their numbers. All other schedules are such a schedule with the actors renamed. */
function claimsInOrder(schedule: readonly Step[]): boolean {
  const first = schedule.flatMap((step) => (step !== 'expire' && step.verb === 'claim' ? [step.actor] : []));
  return first.every((actor, i) => actor === i);
}

interface Model {
  state: 'free' | 'claimed' | 'done';
  owner: number | undefined;
  live: boolean;
  fence: number;
  released: number | undefined;
}

function expected(model: Model, { actor, verb }: Exclude<Step, 'expire'>): string {
  const owns = model.state === 'claimed' && model.owner === actor && model.live;
  if (verb === 'claim') {
    if (model.state === 'done') return 'done';
    if (model.state === 'claimed' && model.live && model.owner !== actor) return 'in-progress';
    return 'claimed';
  }
  if (verb === 'renew') return owns ? 'renewed' : 'lost';
  if (verb === 'confirm') return owns ? 'confirmed' : 'lost';
  return owns ? 'released' : 'lost';
}

function apply(model: Model, { actor }: Exclude<Step, 'expire'>, answer: string): void {
  if (answer === 'claimed') Object.assign(model, { state: 'claimed', owner: actor, live: true });
  if (answer === 'confirmed') model.state = 'done';
  if (answer === 'released') Object.assign(model, { state: 'free', owner: undefined });
}

describe.each(servers.slice(0, 1))('all interleavings on %s', (_name, client) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(client());
  });
  afterAll(() => bench.close());

  /** @param forget whether the key goes with the lease, as after a short retention */
  async function play(id: string, schedule: readonly Step[], forget: boolean): Promise<string[]> {
    const model: Model = { state: 'free', owner: undefined, live: false, fence: 0, released: undefined };
    const terms = { leaseMs: 600_000, retentionMs: 600_000 };
    const wrong: string[] = [];
    for (const [at, step] of schedule.entries()) {
      if (step === 'expire') {
        if (forget) await bench.raw.del(bench.keyOf(id));
        else await bench.expire(id);
        if (forget) Object.assign(model, { state: 'free', owner: undefined });
        model.live = false;
        continue;
      }
      const token = `actor-${step.actor}`;
      const before = await bench.raw.get(bench.keyOf(id));
      const want = expected(model, step);
      const answer =
        step.verb === 'claim'
          ? await bench.once.claim(id, { ...terms, token })
          : await bench.once[step.verb](id, token);
      if (answer.status !== want) wrong.push(`step ${at}: ${answer.status} instead of ${want}`);
      if (['lost', 'in-progress', 'done'].includes(want)) {
        const after = await bench.raw.get(bench.keyOf(id));
        if (after !== before) wrong.push(`step ${at}: ${want} changed the key`);
      }
      if (step.verb === 'claim' && want === 'claimed') {
        const { fence } = claimed(answer as Awaited<ReturnType<Bench['once']['claim']>>);
        if (fence <= model.fence) wrong.push(`step ${at}: fence ${fence} after ${model.fence}`);
        model.fence = fence;
      }
      apply(model, step, want);
    }
    return wrong;
  }

  it.each([
    ['is over while the key stays', false],
    ['is over and the key is forgotten', true],
  ])(
    'of claim, renew, confirm and release, where a lease %s',
    async (name, forget) => {
      const every = [...schedules()];
      expect(every.length).toBeGreaterThan(17_000);
      const all = every.filter((schedule, i) => LONG || (claimsInOrder(schedule) && i % 27 === 0));
      expect(all.length).toBeGreaterThan(100);
      const failures: unknown[] = [];
      let next = 0;
      const worker = async (): Promise<void> => {
        for (;;) {
          const i = next++;
          const schedule = all[i];
          if (schedule === undefined) return;
          const wrong = await play(`${name} ${i}`, schedule, forget);
          if (wrong.length > 0) failures.push({ schedule, wrong });
        }
      };
      await Promise.all(Array.from({ length: 128 }, worker));
      expect(failures.slice(0, 3)).toEqual([]);
    },
    180_000,
  );
});
