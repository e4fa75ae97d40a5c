// npm run test:servers [-- --folder DIR] [--client NAME]... [--server NAME]... [--paths PATH...]
// Runs the suites on each server and with each client that is found, and writes what passed, docs/servers.md.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { format } from 'prettier';
import { debianServers } from './debian-servers.mjs';

const root = resolve(import.meta.dirname, '..');
const SUITES = [
  'libs',
  'test/acl.spec.ts',
  'test/sentinel.slow.spec.ts',
  'test/shutdown.spec.ts',
  'test/modules.spec.ts',
  'test/hostile-keys.spec.ts',
];
/** The suites that say for each lib what its scripts promise, and what the registry relies on of a client. */
const CONTRACTS = ['contract\\.spec\\.ts$', 'script-registry/test/(faults|lost-replies|honesty)\\.spec\\.ts$'];
const CLIENTS = [
  { name: 'ioredis 6', variable: undefined, suites: SUITES },
  { name: 'node-redis 6', variable: 'redis', suites: SUITES },
  { name: 'ioredis 5', variable: 'ioredis5', suites: CONTRACTS },
  { name: 'node-redis 5', variable: 'redis5', suites: CONTRACTS },
  { name: 'iovalkey', variable: 'iovalkey', suites: CONTRACTS },
];

/** Returns the servers as names such as `Redis 8.0.2`, each with its program. */
function findServers(folder) {
  const named = process.env.LUANEST_SERVERS?.split(':').filter(Boolean);
  const programs = named ?? [
    process.env.REDIS_SERVER_BIN ?? 'redis-server',
    ...debianServers(folder, (line) => process.stderr.write(`${line}\n`)),
  ];
  return programs.map((program) => {
    const { stdout = '' } = spawnSync(program, ['--version'], { encoding: 'utf8' });
    const [, kind, version] = /^(\w+) server v=(\S+)/.exec(stdout) ?? [];
    if (kind === undefined) throw new Error(`${program} is not a redis-server or valkey-server.`);
    return { name: `${kind} ${version}`, program };
  });
}

async function run({ name, program }, { variable }, suites) {
  // The in-memory server is compared with Redis 7.0, whose commands and texts it has.
  const ignored = ['--testPathIgnorePatterns', '/node_modules/', '\\.long\\.spec\\.ts$'];
  if (!name.startsWith('Redis 7.0')) ignored.push('libs/memory-redis/');
  const folder = mkdtempSync(join(tmpdir(), 'luanest-servers-'));
  const output = join(folder, 'jest.json');
  const env = {
    ...process.env,
    REDIS_SERVER_BIN: program,
    LUANEST_ALL_SERVERS: '1',
    ...(variable && { LUANEST_TEST_CLIENT: variable }),
  };
  const jest = spawn(
    process.execPath,
    [join(root, 'node_modules/jest/bin/jest.js'), ...suites, ...ignored, '--json', '--outputFile', output],
    {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
      env,
    },
  );
  await new Promise((done) => jest.once('close', done));
  const result = existsSync(output) ? JSON.parse(readFileSync(output, 'utf8')) : undefined;
  rmSync(folder, { recursive: true, force: true });
  if (!result) throw new Error('Jest wrote no result.');
  const failures = result.testResults.flatMap(({ name, assertionResults, status, message }) => {
    const failed = assertionResults.filter((test) => test.status === 'failed').map(({ fullName }) => fullName);
    if (failed.length === 0 && status === 'failed') failed.push(message.split('\n')[0]);
    return failed.map((title) => ({ file: relative(root, name), title }));
  });
  return { passed: result.numPassedTests, suites: result.numTotalTestSuites, failures };
}

const PAGE = join(root, 'docs/servers.md');

/** Returns the rows of the page as it is: those of pairs that are not run again stay. */
function knownRows() {
  if (!existsSync(PAGE)) return [];
  const rows = [];
  for (const line of readFileSync(PAGE, 'utf8').split('\n')) {
    const cells = line.split('|').map((cell) => cell.trim());
    if (cells.length === 9 && /^\d{4}-/.test(cells[3])) {
      const [, server, client, date, node, suites, passed, failed] = cells;
      rows.push({ server, client, date, node, suites, passed, failed, failures: [] });
    }
    const failure = /^- (.+?), (.+?): `(.+?)`: (.+)$/.exec(line);
    if (failure) {
      const [, server, client, file, title] = failure;
      rows.find((row) => row.server === server && row.client === client)?.failures.push({ file, title });
    }
  }
  return rows;
}

async function page(rows) {
  const failures = rows.flatMap(({ server, client, failures: own }) =>
    own.map((failure) => ({ server, client, ...failure })),
  );
  const text = `# Servers and clients

\`npm run test:servers\` writes this page. It runs the suites on each server and with each client. The servers are Debian's packages.
The contract suites check what the scripts of each module promise, what ScriptRegistry relies on of a client, and what a call reports
when its reply is lost. The in-memory server of the tests is compared with Redis 7.0 alone. Tests of what only ioredis does, such as sending
a command again, are left out with other clients.

| server | client | date | Node | suites | tests passed | failed |
| --- | --- | --- | --- | --- | --- | --- |
${rows.map(({ server, client, date, node, suites, passed, failed }) => `| ${[server, client, date, node, suites, passed, failed].join(' | ')} |`).join('\n')}
${failures.length === 0 ? '' : `\n## Failures\n\n${failures.map(({ server, client, file, title }) => `- ${server}, ${client}: \`${file}\`: ${title}`).join('\n')}\n`}
[Managed Redis](managed-redis.md) lists the permissions that the modules need, and what services forbid.
`;
  return format(text, { parser: 'markdown', printWidth: 140, proseWrap: 'preserve' });
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    folder: { type: 'string', default: join(tmpdir(), 'luanest-debian-servers') },
    client: { type: 'string', multiple: true },
    server: { type: 'string', multiple: true },
    dry: { type: 'boolean', default: false },
  },
});
const chosen = (names, name) => !names || names.some((part) => name.toLowerCase().includes(part.toLowerCase()));
const servers = findServers(values.folder).filter(({ name }) => chosen(values.server, name));
const clients = CLIENTS.filter(({ name }) => chosen(values.client, name));
const rows = [];
const number = (value) => value.toLocaleString('en');
for (const server of servers) {
  for (const client of clients) {
    const chosenSuites = positionals.length > 0 ? positionals : client.suites;
    const { passed, suites, failures } = await run(server, client, chosenSuites);
    process.stderr.write(`${server.name}, ${client.name}: ${passed} passed, ${failures.length} failed\n`);
    for (const { file, title } of failures) process.stderr.write(`  ${file}: ${title}\n`);
    rows.push({
      server: server.name,
      client: client.name,
      date: new Date().toISOString().slice(0, 10),
      node: process.versions.node,
      suites: `${number(suites)}${client.suites === CONTRACTS ? ' contract suites' : ''}`,
      passed: number(passed),
      failed: number(failures.length),
      failures,
    });
    if (values.dry) continue;
    // After each pair, so that a run that is stopped keeps what it has found.
    const isNew = (known) => !rows.some((row) => row.server === known.server && row.client === known.client);
    const order = (row) => `${row.server} ${CLIENTS.findIndex(({ name }) => name === row.client)}`;
    const all = [...knownRows().filter(isNew), ...rows].sort((one, other) => (order(one) < order(other) ? -1 : 1));
    writeFileSync(PAGE, await page(all));
  }
}
if (rows.some(({ failures }) => failures.length > 0)) process.exitCode = 1;
