import { time } from '../../internal/src';
import { RegisteredGroups } from '../src/streams/stream-catalog';

it('a group whose name Redis lost is kept until its own consumers have written it again', () => {
  let now = 0;
  const clock = jest.spyOn(time, 'monotonicMs').mockImplementation(() => now);
  const groups = new RegisteredGroups(20_000);
  const at = (ms: number, ...listed: string[]): string => {
    now = ms;
    groups.add(listed);
    return groups.names;
  };
  expect(at(0, 'mail', 'audit')).toBe('mail audit');
  // The checks of a process are up to 12.5 s apart, and Redis may have been unavailable for longer.
  expect(at(60_000, 'mail')).toBe('mail audit');
  expect(at(72_500, 'mail', 'audit')).toBe('mail audit');
  expect(at(80_000, 'mail')).toBe('mail audit');
  expect(at(92_500, 'mail')).toBe('mail audit');
  expect(at(100_001, 'mail')).toBe('mail');
  clock.mockRestore();
});
