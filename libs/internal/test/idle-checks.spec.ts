import { ManualTime, turn } from '../../../test/support/manual-time';
import { pending } from '../../../test/support/replies';
import { type IdleCheck, idleChecksOf } from '../src';

const time = new ManualTime();
const MINUTE = 60_000;

/** Checks of so many commands each, and which of them were made when. */
function checksOf(...commands: number[]) {
  const made: { readonly which: number; readonly at: number }[] = [];
  const checks = commands.map((each, which): IdleCheck => ({
    commands: each,
    check: () => Promise.resolve(void made.push({ which, at: time.now })),
  }));
  return { made, checks };
}

it('checks are made in turn', async () => {
  const idle = idleChecksOf({});
  const { made, checks } = checksOf(4, 4, 4);
  for (const check of checks) idle.add(check);
  await time.pass(2 * MINUTE);
  expect(made.length).toBeGreaterThan(8);
  expect(made.map(({ which }) => which)).toEqual(made.map((_, i) => i % 3));
});

it.each([
  ['one check', [40]],
  ['a hundred', Array.from({ length: 100 }, () => 40)],
  ['dear ones and cheap ones', [400, 1, 10, 90, 3]],
])('%s cost at most 0.4 commands a second', async (_, commands) => {
  const idle = idleChecksOf({});
  const { made, checks } = checksOf(...commands);
  for (const check of checks) idle.add(check);
  const seconds = 24 * 3_600;
  await time.pass(seconds * 1_000);
  const sent = made.reduce((sum, { which }) => sum + (commands[which] ?? 0), 0);
  // The first check may come early, at a random time.
  expect(sent).toBeLessThanOrEqual(0.4 * seconds + 400);
  // No check is forgotten for longer than all of them cost.
  expect(new Set(made.map(({ which }) => which)).size).toBe(commands.length);
});

it('checks that cost little are at least a second apart', async () => {
  const idle = idleChecksOf({});
  const { made, checks } = checksOf(0.01);
  for (const check of checks) idle.add(check);
  await time.pass(10_000);
  expect(made).toHaveLength(10);
});

it('a check that takes long delays the next one', async () => {
  const idle = idleChecksOf({});
  const reply = pending<void>();
  let began = 0;
  idle.add({ commands: 1, check: () => (began++, reply.promise) });
  await time.pass(10 * MINUTE);
  expect(began).toBe(1);
  reply.resolve();
  await time.pass(2_500);
  expect(began).toBe(2);
});

it('a check that was removed is not made; without checks there is no timer, and a new check starts it again', async () => {
  const idle = idleChecksOf({});
  const { made, checks } = checksOf(4, 4);
  const [first, second] = checks as [IdleCheck, IdleCheck];
  idle.add(first);
  idle.add(second);
  idle.remove(first);
  await time.pass(MINUTE);
  expect(new Set(made.map(({ which }) => which))).toEqual(new Set([1]));
  idle.remove(second);
  expect(time.running).toEqual([]);
  made.length = 0;
  idle.add(first);
  await time.pass(MINUTE);
  expect(made.length).toBeGreaterThan(0);
});

it('checks that are removed and added while one is made start one timer, not two', async () => {
  const idle = idleChecksOf({});
  const reply = pending<void>();
  const slow = { commands: 1, check: () => reply.promise };
  idle.add(slow);
  await time.pass(MINUTE);
  idle.remove(slow);
  const { checks } = checksOf(1);
  for (const check of checks) idle.add(check);
  reply.resolve();
  await turn();
  expect(time.running).toHaveLength(1);
});

it('the timer does not keep the process from its end', () => {
  const idle = idleChecksOf({});
  for (const check of checksOf(1).checks) idle.add(check);
  expect(time.running).toHaveLength(1);
  expect(time.keepsProcess).toBe(false);
});

it('all libs share the checks of a registry, and each registry has its own', () => {
  const registry = {};
  expect(idleChecksOf(registry)).toBe(idleChecksOf(registry));
  expect(idleChecksOf({})).not.toBe(idleChecksOf(registry));
});

it('checkAll makes each check once', async () => {
  const idle = idleChecksOf({});
  const { made, checks } = checksOf(4, 4, 4);
  for (const check of checks) idle.add(check);
  await idle.checkAll();
  expect(made.map(({ which }) => which)).toEqual([0, 1, 2]);
});
