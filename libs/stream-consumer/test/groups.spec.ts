import { eventually } from '../../../test/support/wait';
import { group, openBench, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

const numbers = (count: number): { payload: number }[] => Array.from({ length: count }, (_, payload) => ({ payload }));
const sorted = (seen: readonly number[]): number[] => [...seen].sort((a, b) => a - b);

/** Groups that look for new partitions at different times: one ten times a second, one never while the test runs. */
describe.each(few(servers))('all groups of a stream, on %s', (_, client) => {
  let quick: Bench;
  let late: Bench;
  let many: Bench;
  beforeAll(async () => {
    quick = await openBench(client(), { watchEveryMs: 50 });
    late = await openBench(client(), { watchEveryMs: Infinity }, { prefix: quick.prefix });
    many = await openBench(client(), { partitions: 4 }, { prefix: quick.prefix });
  });
  afterAll(() => Promise.all([quick.close(), late.close(), many.close()]));

  async function length(stream: string): Promise<number> {
    return (await many.streams.stats(stream, 'mail')).length;
  }

  it('get every message of partitions that are added, however late they look for them', async () => {
    const mail: number[] = [];
    const audit: number[] = [];
    const first = await late.streams.handle<number>(group('grows', 'audit'), ({ payload }) => void audit.push(payload));
    await quick.streams.handle<number>(group('grows', 'mail'), ({ payload }) => void mail.push(payload));
    await many.streams.publishMany('grows', numbers(100));
    await eventually(() => expect(mail).toHaveLength(100));
    await first.stop();
    await late.streams.handle<number>(group('grows', 'audit'), ({ payload }) => void audit.push(payload));
    await eventually(() => expect(sorted(audit)).toEqual(sorted(mail)));
    await eventually(async () => expect(await length('grows')).toBe(0));
  });

  it.each(['the note of the groups', 'partition 0'])(
    'get every message of partitions that are added after %s was lost',
    async (lost) => {
      const stream = lost.replaceAll(' ', '-');
      const mail: number[] = [];
      const audit: number[] = [];
      const before = await late.streams.handle<number>(
        group(stream, 'audit'),
        ({ payload }) => void audit.push(payload),
      );
      await before.stop();
      const config = quick.registry.keySpace('stream-consumer').tag(stream).key('config');
      await quick.raw.del(lost === 'partition 0' ? quick.keys(stream, 'audit').stream : config);
      await many.streams.publishMany(stream, numbers(60));
      await quick.streams.handle<number>(group(stream, 'mail'), ({ payload }) => void mail.push(payload));
      await eventually(() => expect(mail).toHaveLength(60));
      await late.streams.handle<number>(group(stream, 'audit'), ({ payload }) => void audit.push(payload));
      await eventually(() => expect(sorted(audit)).toEqual(sorted(mail)));
      await eventually(async () => expect(await length(stream)).toBe(0));
    },
  );

  it('a group that is removed holds up nothing, also where it never looked', async () => {
    const old = await late.streams.handle(group('left', 'audit'), () => undefined);
    await old.stop();
    await quick.streams.handle(group('left', 'mail'), () => undefined);
    await many.streams.publishMany('left', numbers(60));
    await eventually(async () =>
      expect(await quick.streams.stats('left', 'mail')).toMatchObject({ lag: 0, pending: 0 }),
    );
    expect(await length('left')).toBeGreaterThan(0);
    expect(await quick.streams.removeGroup('left', 'audit')).toBe(true);
    await eventually(async () => expect(await length('left')).toBe(0));
    await many.streams.publishMany('left', numbers(20));
    await eventually(async () => expect(await length('left')).toBe(0));
    expect(await quick.streams.removeGroup('left', 'audit')).toBe(false);
  });
});
