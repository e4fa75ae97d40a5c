import { LostError } from 'luanest/script-registry';
import { OnceService, type OnceRun } from 'luanest/once';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { resolveOptions, type OnceModuleOptions } from '../src/once.options';
import { Runs } from '../src/runs/runs';
import { openBench, type Bench } from './support';

const terms = { leaseMs: 60_000, retentionMs: 120_000 };

let bench: Bench;
let counter = 0;
let id: string;
beforeAll(async () => {
  bench = await openBench(standaloneClient());
});
beforeEach(() => {
  counter += 1;
  id = `run ${counter}`;
});
afterAll(() => bench.close());

const gate = (): { readonly opened: Promise<void>; readonly open: () => void } => {
  let open = (): void => undefined;
  return { opened: new Promise<void>((resolve) => (open = resolve)), open: () => open() };
};
const serviceWith = (options: OnceModuleOptions): OnceService => new OnceService(bench.store, resolveOptions(options));

async function reasonOf(signal: AbortSignal): Promise<string> {
  await eventually(() => expect(signal.aborted).toBe(true));
  expect(signal.reason).toBeInstanceOf(LostError);
  return (signal.reason as Error).message;
}

describe('the run in progress', () => {
  it('is the argument of the work, and current() returns it in the work, also after an await', async () => {
    const { once } = bench;
    expect(once.current()).toBeUndefined();
    const seen: (OnceRun | undefined)[] = [];
    const answer = await once.run(id, terms, async (run) => {
      seen.push(run, once.current());
      await bench.raw.ping();
      const inner = await once.run(`${id}, inside`, terms, () => once.current()?.id);
      expect(inner).toMatchObject({ result: `${id}, inside` });
      seen.push(once.current());
      run.assertHeld();
      return { fence: run.fence, aborted: run.signal.aborted };
    });
    expect(once.current()).toBeUndefined();
    expect(new Set(seen).size).toBe(1);
    expect(seen[0]?.id).toBe(id);
    const { fence } = (await bench.stored(id)) ?? {};
    expect(answer).toEqual({ status: 'ran', result: { fence: Number(fence), aborted: false }, confirmed: true });
    expect(() => seen[0]?.assertHeld()).toThrow(
      'OnceModule: The work must stop and write nothing more, because its work has already ended.',
    );
  });

  it('is the run of a query that begins when its `then` is called', async () => {
    // Query builders are such thenables.
    const query: PromiseLike<unknown> = { then: (done) => Promise.resolve(bench.once.current()?.id).then(done) };
    expect(await bench.once.run(id, terms, () => query)).toMatchObject({ status: 'ran', result: id });
  });

  it('is a different one for each run at the same time', async () => {
    const { opened, open } = gate();
    const names = ['a', 'b', 'c'].map((name) => `${id} ${name}`);
    const all = names.map((name) =>
      bench.once.run(name, terms, async () => {
        await opened;
        return bench.once.current()?.id;
      }),
    );
    open();
    expect((await Promise.all(all)).map((answer) => 'result' in answer && answer.result)).toEqual(names);
  });

  it('has a higher fence with each run of an id, also after the key has expired', async () => {
    const fences: number[] = [];
    for (const forget of [false, false, true, true]) {
      if (forget) await bench.raw.del(bench.keyOf(id));
      await bench.once
        .run(id, terms, ({ fence }) => {
          fences.push(fence);
          throw new Error('again');
        })
        .catch(() => undefined);
    }
    expect(new Set(fences).size).toBe(4);
    expect([...fences].sort((a, b) => a - b)).toEqual(fences);
  });
});

describe('the signal of a run', () => {
  it('fires when another owner has the id', async () => {
    const answer = await bench.once.run(id, { leaseMs: 600, retentionMs: 60_000 }, async (run) => {
      await bench.expire(id);
      expect(await reasonOf(run.signal)).toMatch(
        /its claim was lost: the lease has ended, another call has the id, or Redis lost the key/,
      );
      expect(() => run.assertHeld()).toThrow(LostError);
    });
    expect(answer).toMatchObject({ status: 'ran', confirmed: false });
  });

  it('fires after maxLeaseMs; then the lease ends, and another owner gets the id', async () => {
    const { opened, open } = gate();
    const options = { leaseMs: 2_000, retentionMs: 60_000 };
    let first: OnceRun | undefined;
    const running = serviceWith({ maxLeaseMs: 2_500 }).run(id, options, async (run) => {
      first = run;
      await opened;
    });
    await eventually(() => expect(first).toBeDefined());
    expect(await reasonOf((first as OnceRun).signal)).toMatch(/it has run for 2500 ms or longer \(maxLeaseMs\)/);
    const next = await eventually(async () => {
      const answer = await bench.once.run(id, terms, ({ fence }) => fence);
      expect(answer.status).toBe('ran');
      return answer;
    });
    expect(next).toMatchObject({ confirmed: true });
    expect('result' in next && next.result).toBeGreaterThan((first as OnceRun).fence);
    open();
    expect(await running).toMatchObject({ status: 'ran', confirmed: false });
  });

  it('does not fire before a lease that is longer than maxLeaseMs has ended', async () => {
    const answer = await serviceWith({ maxLeaseMs: 1 }).run(id, { leaseMs: 60_000 }, async ({ signal }) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return signal.aborted;
    });
    expect(answer).toMatchObject({ result: false, confirmed: true });
  });

  it('fires at shutdown after drainMs, and work that ends then is still confirmed', async () => {
    const once = serviceWith({ drainMs: 50, abortGraceMs: 10_000 });
    let firedAfterMs = 0;
    const running = once.run(id, terms, async ({ signal }) => {
      const startedAt = performance.now();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      firedAfterMs = performance.now() - startedAt;
      return (signal.reason as Error).message;
    });
    await eventually(async () => expect(await bench.stored(id)).toBeDefined());
    await once.beforeApplicationShutdown();
    expect(await running).toEqual({
      status: 'ran',
      result: 'OnceModule: The work must stop and write nothing more, because the app is shutting down.',
      confirmed: true,
    });
    expect(firedAfterMs).toBeGreaterThan(30);
  });

  it('fires for a request without a claim when the app shuts down', async () => {
    const runs = new Runs({ drainMs: 0, abortGraceMs: 0 });
    const { signal } = runs.unprotected('key');
    await runs.close();
    await eventually(() => expect(signal.reason).toBeInstanceOf(LostError));
  });

  it('does not delay a shutdown for longer than drainMs and abortGraceMs', async () => {
    const once = serviceWith({ drainMs: 20, abortGraceMs: 20 });
    const { opened, open } = gate();
    const running = once.run(id, terms, () => opened);
    await eventually(async () => expect(await bench.stored(id)).toBeDefined());
    await once.beforeApplicationShutdown();
    expect((await bench.stored(id))?.state).toBe('c');
    open();
    expect(await running).toMatchObject({ confirmed: true });
  });
});

it.each([
  [{ leaseMs: 0 }, 'leaseMs is 0.'],
  [{ retentionMs: 1.5 }, 'retentionMs is 1.5.'],
  [{ delivery: 'twice' }, 'delivery is "twice".'],
  [{ maxLeasMs: 1 }, 'OnceService: There is no option "maxLeasMs".'],
])('run refuses %j before anything is sent', async (options, message) => {
  await expect(bench.once.run(id, options as never, () => 1)).rejects.toThrow(message);
  expect(await bench.stored(id)).toBeUndefined();
});

it('run refuses work that is not a function, and claims nothing', async () => {
  await expect(bench.once.run(id, {}, null as never)).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: 'OnceService.run: work is null. Expected a function.',
  });
  expect(await bench.stored(id)).toBeUndefined();
});
