import { hostname } from 'node:os';
import type { Checks, KnownOptions } from './checks';

/** Options of a module that stores the name of a process in Redis, for example to show which process holds a lock. */
export interface NodeOptions {
  /** Name of this process; text of 1 to 200 characters without spaces and `#`. Default `<host>:<pid>`. */
  readonly node?: string;
}

export const KNOWN_NODE: KnownOptions<NodeOptions> = { node: true };

/** Checks the option and fills in the default. @throws the error that `checks` makes */
export function resolveNode(
  { node = `${hostname().replaceAll('#', '-')}:${process.pid}` }: NodeOptions,
  checks: Checks,
): string {
  return checks.text(
    'node',
    node,
    /^[^\s#\p{Cs}]{1,200}$/u,
    'well-formed text of 1 to 200 characters without spaces and "#"',
  );
}
