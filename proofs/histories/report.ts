import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { format } from 'prettier';
import { totalOf, type CampaignResult, type Counts } from './campaign';

const number = (value: number): string => value.toLocaleString('en');

/** Writes proofs/HISTORIES.md. */
export async function writeReport({ counts, faults, violations, seconds, seed }: CampaignResult): Promise<void> {
  const ofSubject = (name: string): number => violations.filter(({ plan }) => plan.subject === name).length;
  const row = (name: string, one: Counts, wrong: number): string =>
    `| ${[name, one.histories, one.operations, one.pending, one.configurations, one.undecided, wrong].map((cell) => (typeof cell === 'number' ? number(cell) : cell)).join(' | ')} |`;
  const total = totalOf(counts);
  const text = `# Histories

Made by \`npm run histories\` on ${new Date().toISOString().slice(0, 10)}, in ${(seconds / 60).toFixed(1)} minutes on ${cpus().length} cores with Node ${process.versions.node}, seed ${seed}. The
command records concurrent calls of several processes against a real Redis, under faults, and checks each history for
linearizability. \`proofs/histories/README.md\` describes how. A history has at least 50 operations; ${number(total.short)} shorter ones do not count. One whose check
ended at its bound (undecided) is a violation.

| subject | histories | operations | pending | configurations | undecided | violations |
| --- | --- | --- | --- | --- | --- | --- |
${[...counts].map(([name, one]) => row(name, one, ofSubject(name))).join('\n')}
${row('**all**', total, violations.length)}

- **pending**: operations whose outcome nobody knows, because the reply was lost, came too late, or the process was killed.
- **configurations**: what the checker looked at: the operations that have taken effect, and the state.

Faults. Each batch of 200 histories had all of them:

| fault | how often |
| --- | --- |
${[...faults].map(([kind, count]) => `| ${kind} | ${number(count)} |`).join('\n')}
`;
  const file = join(__dirname, '..', 'HISTORIES.md');
  writeFileSync(file, await format(text, { parser: 'markdown', printWidth: 120 }));
}
