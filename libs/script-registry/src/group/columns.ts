import type { CommandArg } from '../connection/port';
import type { Call } from './call';

// These loops use indexes, because all keys and arguments of a group pass through them, and an iterator costs more than the work.

/**
 * Returns true if all calls have the same keys or arguments. Buffers of different calls count as different.
 *
 * @param columns the indexes that are compared
 */
export function alike(calls: readonly Call[], what: 'keys' | 'args', columns: readonly number[]): boolean {
  const first = (calls[0] as Call)[what];
  for (let i = 1; i < calls.length; i++) {
    const values = (calls[i] as Call)[what];
    for (let n = 0; n < columns.length; n++) {
      const column = columns[n] as number;
      if (values[column] !== first[column]) return false;
    }
  }
  return true;
}

/** Appends keys or arguments of the first `count` calls to a command. @param columns their indexes */
export function pushColumns(
  command: CommandArg[],
  calls: readonly Call[],
  what: 'keys' | 'args',
  columns: readonly number[],
  count: number,
): void {
  for (let i = 0; i < count; i++) {
    const values = (calls[i] as Call)[what];
    for (let n = 0; n < columns.length; n++) command.push(values[columns[n] as number] as CommandArg);
  }
}

/** Appends values to a command. `push(...values)` would fail for a list that does not fit on the stack. */
export function pushAll(command: CommandArg[], values: readonly CommandArg[]): void {
  for (let i = 0; i < values.length; i++) command.push(values[i] as CommandArg);
}
