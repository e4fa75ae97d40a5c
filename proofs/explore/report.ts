import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { format } from 'prettier';
import type { JobResult } from './job';
import { scenarios } from './scenarios';

const number = (value: number): string => value.toLocaleString('en');

const NOT_EXPLORED = `## Not explored

- Redirections (MOVED, ASK) and calls to several slots: the in-memory server is not a Cluster. The tests of \`script-registry\` move
  slots of a real Cluster.
- The growth of a stream at the moment when a publisher announces it. The scenario "a new partition" begins after that.
- \`once.first\` and idempotent routes: only the calls that they make.
- Tasks with names that no worker knows, and the replay of dead letters while a group is removed.`;

/** Writes proofs/EXPLORED.md. */
export async function writeReport(results: readonly JobResult[], seconds: number): Promise<void> {
  const total = (of: (result: JobResult) => number): number => results.reduce((sum, result) => sum + of(result), 0);
  const rows = results.map(
    ({ protocol, scenario, states, moves, depth, ends, groups, compared, violations, seconds: took }) =>
      `| ${protocol} | ${scenario} | ${number(states)} | ${number(moves)} | ${depth} | ${number(ends)} | ${number(groups)} | ${number(compared)} | ${violations.length} | ${took.toFixed(0)} |`,
  );
  const names = [...new Set(scenarios.map(({ name }) => name))];
  const text = `# Explored

Made by \`npm run explore\` on ${new Date().toISOString().slice(0, 10)}, in ${(seconds / 60).toFixed(1)} minutes on ${cpus().length} cores with Node ${process.versions.node}. The
command visits every order of steps and faults of each scenario, up to the depth, with the real Lua scripts. \`proofs/explore/README.md\`
describes how.

| what | how many |
| --- | --- |
| distinct states | ${number(total((one) => one.states))} |
| moves made | ${number(total((one) => one.moves))} |
| states in which the actors were left alone until all settled | ${number(total((one) => one.ends))} |
| groups of calls compared with the same calls alone | ${number(total((one) => one.groups))} |
| states compared with a real Redis, with all replies on the way to them | ${number(total((one) => one.compared))} |
| violations | ${number(total((one) => one.violations.length))} |

| protocol | scenario | states | moves | depth | left alone | groups | compared with Redis | violations | seconds |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
${rows.join('\n')}

${names.map(sectionOf).join('\n\n')}

${NOT_EXPLORED}
`;
  const file = join(__dirname, '..', 'EXPLORED.md');
  writeFileSync(file, await format(text, { parser: 'markdown', printWidth: 120 }));
}

/** Returns where the model begins, and the invariants. */
function sectionOf(name: string): string {
  const own = scenarios.filter((one) => one.name === name);
  const words = new Set(own.flatMap(({ invariants }) => invariants.map((one) => one.words)));
  return `## ${name}\n\n${own[0]?.about}\n\n${[...words].map((one) => `- ${one}`).join('\n')}`;
}
