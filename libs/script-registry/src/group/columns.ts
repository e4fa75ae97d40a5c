import type { CommandArg } from '../connection/port';
import type { Call } from './call';

// Loops by index: all keys and arguments of a group pass through here, and an iterator costs more than the work.

/** Returns true if all calls have the same values in these columns. */
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

/** Appends the values of these columns of the first `count` calls. */
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

/** Appends all values. `push(...values)` would fail for a list that does not fit on the stack. */
export function pushAll(command: CommandArg[], values: readonly CommandArg[]): void {
  for (let i = 0; i < values.length; i++) command.push(values[i] as CommandArg);
}
