import { UniqueIds } from '../src';

it('ids differ within an instance and between instances, and begin with the prefix', () => {
  const [one, other] = [new UniqueIds('node#'), new UniqueIds('node#')];
  const ids = [one, other].flatMap((each) => Array.from({ length: 1_000 }, () => each.next()));
  expect(new Set(ids).size).toBe(2_000);
  expect(ids.filter((id) => !/^node#[\w-]{16}\.[0-9a-z]{1,2}$/.test(id))).toEqual([]);
});
