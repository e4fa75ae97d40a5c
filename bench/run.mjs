// npm run bench -- <name> [--json]: runs one bench, which prints a line per case. With --json, the last line has all rows.
// Without a name, runs all benches and writes RESULTS.md.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { positionals, values } = parseArgs({ allowPositionals: true, options: { json: { type: 'boolean' } } });
const [name = ''] = positionals;
const file = fileURLToPath(new URL(`./${name}.bench.mjs`, import.meta.url));
if (name !== '' && (!/^[a-z-]+$/.test(name) || !existsSync(file))) {
  const known = readdirSync(new URL('.', import.meta.url))
    .filter((entry) => entry.endsWith('.bench.mjs'))
    .map((entry) => entry.slice(0, -'.bench.mjs'.length));
  console.error(
    `There is no bench ${JSON.stringify(name)}. Known: ${known.join(', ')}. Usage: npm run bench -- <name> [--json]`,
  );
  process.exit(2);
}
if (!existsSync(new URL('../dist/libs', import.meta.url))) {
  console.error('The benches run the built package. Run: npm run build');
  process.exit(2);
}
if (!existsSync(new URL('./node_modules', import.meta.url))) {
  console.error('Installing the peers, which are dependencies of bench/package.json ...');
  execFileSync('npm', ['install', '--no-audit', '--no-fund'], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
if (name === '') {
  const { names, writeResults } = await import('./results.mjs');
  process.exit(await writeResults(names));
}
const { run } = await import(file);
const rows = await run((line) => console.log(line));
if (values.json) console.log(JSON.stringify({ bench: name, rows }));
process.exit(0);
