// npm run test:faults: runs the long versions of all fault suites, and writes a report of what they did, proofs/FAULTS.md.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { format } from 'prettier';

const root = resolve(import.meta.dirname, '..');
/** Names of suites in which something is broken, killed, lost or attacked. */
const FAULTS =
  'slow|long|faults|fuzz|lost-replies|replays|failover|workers|processes|slots|histories|confirm|leases|nodes|shutdown|large|payouts|closing|' +
  'interleavings|model|split|invariant|wakeups|owners|cluster|embedded-redis|ledger-host|file-lock|app/app';
/** Names of suites whose tests are all about bad input. */
const BAD_INPUT = 'hostile|input|wrong-types|options|edge';

const folder = mkdtempSync(join(tmpdir(), 'luanest-faults-'));
const notesFile = join(folder, 'notes');
const byName = new RegExp(`(${FAULTS}|${BAD_INPUT})[^/]*\\.spec\\.ts$`);
/** Suites that import test/support/size.ts have a long version, so they are included whatever their name is. */
const bySize = /support\/size'/;
const files = ['libs', 'test', 'proofs']
  .flatMap((top) => readdirSync(join(root, top), { recursive: true }).map((name) => join(top, String(name))))
  .filter((file) => file.endsWith('.spec.ts') && !file.includes('node_modules'))
  .filter((file) => byName.test(file) || bySize.test(readFileSync(join(root, file), 'utf8')));

/** Runs suites, so many at a time. */
async function run(some, workers) {
  const output = join(folder, `${basename(some[0])}.json`);
  const args = ['--runTestsByPath', ...some, '--maxWorkers', String(workers), '--json', '--outputFile', output];
  const jest = spawn(
    process.execPath,
    [join(root, 'node_modules/jest/bin/jest.js'), ...args, ...process.argv.slice(2)],
    {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, LUANEST_LONG: '1', LUANEST_FAULT_NOTES: notesFile },
    },
  );
  const code = await new Promise((done) => jest.once('close', done));
  if (!existsSync(output)) process.exit(code || 1);
  return { result: JSON.parse(readFileSync(output, 'utf8')), code };
}

const started = Date.now();
/** Waits for the ticks of cron jobs most of the time. */
const isIdle = (file) => file.endsWith('/slots.long.spec.ts');
const isLong = (file) => file.endsWith('.long.spec.ts') && !isIdle(file);
const isOther = (file) => !isLong(file) && !isIdle(file);
const idle = run(files.filter(isIdle), 1);
// Those that time what other processes do need some of the machine for themselves.
const parts = [await run(files.filter(isLong), 3), await run(files.filter(isOther), 4), await idle];
const status = parts.find(({ code }) => code !== 0)?.code ?? 0;
const minutes = ((Date.now() - started) / 60_000).toFixed(1);
const sum = (count) => parts.reduce((total, { result }) => total + count(result), 0);
const total = sum(({ numTotalTests }) => numTotalTests);
const passed = sum(({ numPassedTests }) => numPassedTests);
const failures = sum(({ numFailedTests, numRuntimeErrorTestSuites }) => numFailedTests + numRuntimeErrorTestSuites);
const notes = new Map();
for (const line of existsSync(notesFile) ? readFileSync(notesFile, 'utf8').trimEnd().split('\n') : []) {
  const [what, count] = JSON.parse(line);
  notes.set(what, (notes.get(what) ?? 0) + count);
}
rmSync(folder, { recursive: true, force: true });

const number = (value) => value.toLocaleString('en');
const results = parts.flatMap(({ result }) => result.testResults);
const suites = results.map(({ name, assertionResults, status: state, startTime, endTime }) => ({
  file: relative(root, name),
  tests: assertionResults.filter((test) => test.status !== 'pending').length,
  failed:
    assertionResults.filter((test) => test.status === 'failed').length +
    (state === 'failed' && assertionResults.length === 0 ? 1 : 0),
  seconds: Math.round((endTime - startTime) / 1_000),
}));
const isInput = (file) => new RegExp(BAD_INPUT).test(basename(file));
const inputs = suites.filter(({ file }) => isInput(file)).reduce((sum, { tests }) => sum + tests, 0);
const order = [
  'scripts run by Redis',
  'messages, tasks, slots and grabs checked one by one',
  'replies lost',
  'requests lost',
  'connections reset',
  'connections gone silent',
  'servers killed (SIGKILL)',
  'servers stopped (SIGSTOP)',
  'servers started again',
  'failovers',
  'slots moved',
  'workers killed (SIGKILL)',
  'workers stopped (SIGSTOP)',
  'handled more than once, as at-least-once allows',
  'lost',
];
/** Returns the lib or folder that a suite tests. */
const partOf = (file) => /^(?:libs|proofs)\/[^/]+|^test\/app|^[^/]+/.exec(file)[0];
const rowOf = (part) => {
  const its = suites.filter(({ file }) => partOf(file) === part);
  const sums = ['tests', 'failed', 'seconds'].map((field) => its.reduce((all, one) => all + one[field], 0));
  return `| \`${part}\` | ${its.length} | ${sums.join(' | ')} |`;
};
const rows = order.map((what) => `| ${what} | ${number(notes.get(what) ?? 0)} |`);
const text = `# Faults

Made by \`npm run test:faults\` on ${new Date().toISOString().slice(0, 10)}, in ${minutes} minutes on ${cpus().length} cores with Node ${process.versions.node}: the
long versions of all suites that break, kill, cut off or attack something. Each test asserts what must hold; the counts
come from the servers, proxies and processes that the suites start.

| what | how many |
| --- | --- |
| tests | ${number(total)} |
| of these failed | ${number(failures)} |
| of these about bad input | ${number(inputs)} |
${rows.join('\n')}

| of | suites | tests | failed | seconds |
| --- | --- | --- | --- | --- |
${[...new Set(suites.map(({ file }) => partOf(file)))].sort().map(rowOf).join('\n')}
`;
writeFileSync(join(root, 'proofs/FAULTS.md'), await format(text, { parser: 'markdown', printWidth: 120 }));
for (const { file, failed } of suites) if (failed > 0) console.error(`FAIL ${file}: ${failed}`);
console.log(`${rows.map((row) => row.replaceAll('|', '').trim().replace(/ {2,}/, ': ')).join('\n')}\n`);
console.log(`${passed} passed, ${failures} failed in ${minutes} minutes; see proofs/FAULTS.md`);
process.exit(status);
