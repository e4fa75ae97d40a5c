import type { Audit } from './audit';
import type { OnStep } from './crowd';
import { formatCents } from './money';

const BAR_WIDTH = 30;
const TITLES = { guests: 'Guests arrive', taps: 'Rain' } as const;

interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Shows the progress: on a terminal as a bar, elsewhere as a line for each quarter. */
export function progressTo(stream: ProgressStream): OnStep {
  let drawn = '';
  return (phase, done, of) => {
    const share = done / of;
    const percent = stream.isTTY ? Math.floor(share * 100) : Math.floor(share * 4) * 25;
    const filled = Math.floor(share * BAR_WIDTH);
    const bar = stream.isTTY ? `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ` : '';
    const line = `${TITLES[phase].padEnd(13)} ${bar}${String(percent).padStart(3)} %`;
    if (line === drawn || (percent === 0 && !stream.isTTY)) return;
    drawn = line;
    stream.write(stream.isTTY ? `\r${line}${done === of ? '\n' : ''}` : `${line}\n`);
  };
}

/** Formats the audit as a table for people. */
export function formatAudit(audit: Audit): string {
  const rows: [string, string][] = [
    ['activity', audit.activityId],
    ['crowd', `${audit.users} users, ${audit.taps} taps`],
    ['grants', `${audit.grants} of ${audit.packets} packets`],
    ['winners', `${audit.winners} different users`],
    ['granted', formatCents(audit.grantedCents)],
    ['paid', `${formatCents(audit.paidCents)} to ${audit.paidUsers} users`],
    ['left', `${formatCents(audit.leftCents)} in ${audit.leftPackets} packets`],
    ['paid + left', `${formatCents(audit.paidCents + audit.leftCents)} of ${formatCents(audit.totalCents)}`],
    ['latency', `p50 ${audit.latencyP50Ms} ms, p99 ${audit.latencyP99Ms} ms`],
    ['throughput', `${audit.grabsPerSecond} grabs/s, ${audit.retries} retries`],
  ];
  const table = rows.map(([name, value]) => `  ${name.padEnd(12)} ${value}`).join('\n');
  return `${table}\n${audit.ok ? 'Every cent and every user adds up.' : formatProblems(audit.problems)}\n`;
}

function formatProblems(problems: readonly string[]): string {
  const shown = problems.slice(0, 20).map((problem) => `  - ${problem}`);
  const more = problems.length > shown.length ? [`  … and ${problems.length - shown.length} more`] : [];
  return ['This does not add up:', ...shown, ...more].join('\n');
}
