import type { Checks } from '../../internal/src';

const DAY_MS = 86_400_000;

/** Options that tasks and consumers of streams have in common: default, least and, unless it is 2^31 - 1, most. */
const WORK_OPTIONS = {
  concurrency: [50, 1, 10_000],
  leaseMs: [30_000, 100, DAY_MS],
  attempts: [5, 1, 10_000],
  timeoutMs: [300_000, 1],
} as const satisfies Record<string, readonly [byDefault: number, least: number, most?: number]>;

/** Checks an option that tasks and consumers have in common. @param byDefault default: that of the libs @throws the error of `where` */
export function workOption(
  where: Checks,
  name: keyof typeof WORK_OPTIONS,
  value: number | undefined,
  byDefault: number = WORK_OPTIONS[name][0],
): number {
  const [, least, most] = WORK_OPTIONS[name] as readonly [number, number, number?];
  return where.integer(name, value ?? byDefault, least, most);
}
