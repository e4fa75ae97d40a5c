import { UniqueIds } from '../src';

it('ids differ within an instance and between instances, and begin with the prefix', () => {
  const [one, other] = [new UniqueIds('node#'), new UniqueIds('node#')];
  const ids = [one, other].flatMap((each) => Array.from({ length: 1_000 }, () => each.next()));
  expect(new Set(ids).size).toBe(2_000);
  expect(ids.filter((id) => !/^node#[\w-]{16}[0-9a-z]{2,3}$/.test(id))).toEqual([]);
});

it('ids of an instance are in the order of their bytes', () => {
  const ids = new UniqueIds();
  const made = Array.from({ length: 50_000 }, () => ids.next());
  expect([...made].sort()).toEqual(made);
});
