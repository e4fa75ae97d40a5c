import type { Sample } from './sample';
import { rounded, row } from './table';

/** Commands that run or load the scripts of luanest. */
const SCRIPTS = new Set(['evalsha', 'eval', 'evalsha_ro', 'script|load']);

/** One line of the table: rates of a command between two samples. */
export interface CommandRates {
  readonly command: string;
  readonly script: boolean;
  readonly callsPerSecond: number;
  readonly failedPerSecond: number;
  /** Mean execution time of a call between two samples, microseconds. */
  readonly usecPerCall: number;
  readonly p99Usec: number;
  /** Time that Redis spent on this command between two samples, percent of one core; for a Cluster, the mean of its masters. */
  readonly busyPercent: number;
}

/** Computes the rates between two samples. The command with the most execution time comes first; commands without calls are left out. */
export function ratesOf(before: Sample, after: Sample): CommandRates[] {
  const seconds = Math.max((after.atMs - before.atMs) / 1_000, 0.001);
  const rates = [...after.commands].map(([command, now]): CommandRates => {
    // After a restart of the server, its counters begin at 0 again.
    const then = before.commands.get(command);
    const base = then && then.calls <= now.calls ? then : { calls: 0, usec: 0, failed: 0 };
    const calls = now.calls - base.calls;
    const usec = now.usec - base.usec;
    return {
      command,
      script: SCRIPTS.has(command),
      callsPerSecond: calls / seconds,
      failedPerSecond: (now.failed - base.failed) / seconds,
      usecPerCall: calls === 0 ? 0 : usec / calls,
      p99Usec: now.p99Usec,
      busyPercent: usec / seconds / 10_000 / after.servers,
    };
  });
  return rates
    .filter(({ callsPerSecond, failedPerSecond }) => callsPerSecond > 0 || failedPerSecond > 0)
    .sort((a, b) => b.busyPercent - a.busyPercent || (a.command < b.command ? -1 : 1));
}

/** Width of the first column, in characters. */
const FIRST = 22;
const HEADS = ['command', 'calls/s', 'failed/s', 'µs/call', 'p99 µs', 'busy %'];

/**
 * Returns the lines of the screen, at most `rows`, each with at most `columns` characters.
 *
 * @param work returns the table of queues and streams, with at most the number of lines that it gets
 */
export function linesOf(
  where: string,
  before: Sample,
  after: Sample,
  { rows, columns }: { readonly rows: number; readonly columns: number },
  work: (rows: number) => readonly string[] = () => [],
): string[] {
  const rates = ratesOf(before, after);
  const total = (read: (rate: CommandRates) => number): number => rates.reduce((sum, rate) => sum + read(rate), 0);
  const head = [
    `luanest top   ${where}   ${after.servers === 1 ? '1 server' : `${after.servers} masters`}   q quits`,
    `${rounded(total((rate) => rate.callsPerSecond))} commands/s   ${rounded(total((rate) => rate.busyPercent))} % busy   ` +
      `${after.clients} clients   ${after.keys} keys   ${rounded(after.memory / 2 ** 20)} MB`,
    '',
    // Queues and streams get half of the screen, and the table of commands gets the other half.
    ...work(Math.floor((rows - 6) / 2)),
    row(HEADS, FIRST),
  ];
  const lines = rates.map((rate) =>
    row(
      [
        rate.script ? `${rate.command} *` : rate.command,
        rounded(rate.callsPerSecond),
        rounded(rate.failedPerSecond),
        rounded(rate.usecPerCall),
        rounded(rate.p99Usec),
        rounded(rate.busyPercent),
      ],
      FIRST,
    ),
  );
  const foot = ['', '* runs scripts; what a script calls is counted in the other lines, too'];
  const room = Math.max(rows - head.length - foot.length, 1);
  return [...head, ...lines.slice(0, room), ...foot].slice(0, rows).map((line) => line.slice(0, columns));
}
