import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Starts a redis-server with Redis' own defaults, no snapshots and `more` options. Returns its port, its process id, and a
 * function that stops it.
 */
export async function startRedis(more = []) {
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), 'luanest-bench-'));
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '', ...more];
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('redis-server did not start')));
    createInterface({ input: child.stdout }).on(
      'line',
      (line) => line.includes('Ready to accept') && resolve(undefined),
    );
  });
  const stop = () => {
    child.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  };
  process.once('exit', stop);
  return { port, pid: child.pid, stop };
}

/** Starts a Cluster of three masters. Returns their ports, and a function that stops them. */
export async function startCluster() {
  const nodes = [];
  for (let i = 0; i < 3; i++)
    nodes.push(await startRedis(['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1']));
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  await promisify(execFile)('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes']);
  for (const { port } of nodes) {
    // A node may refuse commands for a while after the Cluster was made.
    const info = () => promisify(execFile)('redis-cli', ['-p', String(port), 'cluster', 'info']);
    while (!(await info()).stdout.includes('cluster_state:ok'))
      await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { ports: nodes.map(({ port }) => port), stop: () => nodes.forEach((node) => node.stop()) };
}

/**
 * Starts a script in a process of its own. The script prints its port as JSON when it listens, and ends when its input ends.
 *
 * @param file name of the script, in the folder bench
 */
export async function startServer(file, args) {
  const script = new URL(`./${file}`, import.meta.url).pathname;
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const line = await new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)));
    createInterface({ input: child.stdout }).once('line', resolve);
  });
  return { port: JSON.parse(line).port, stop: () => child.stdin.end() };
}

/** Starts a proxy in a process of its own. The proxy delays each byte by `delayMs` in each direction. */
export function startDelayProxy(target, delayMs) {
  return startServer('delay-proxy.mjs', ['--target', String(target), '--delay', String(delayMs)]);
}

/**
 * Connects a client of node-redis, which writes the commands of a turn of the event loop together. Its default `timeout` would
 * give each command an AbortSignal and a timer, which ioredis does not.
 */
export function connectNodeRedis(port, database = 0) {
  const { createClient } = createRequire(import.meta.url)('redis');
  return createClient({
    socket: { host: '127.0.0.1', port },
    database,
    commandOptions: { timeout: undefined },
  }).connect();
}

/** Makes `calls` calls, `inFlight` of them at a time. Returns calls per second, and Node's CPU time per call in µs. */
export async function measure(call, calls, inFlight) {
  let next = 0;
  const worker = async () => {
    while (next < calls) await call(next++);
  };
  const cpu = process.cpuUsage();
  const started = performance.now();
  await Promise.all(Array.from({ length: inFlight }, worker));
  const seconds = (performance.now() - started) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: calls / seconds, cpuMicros: (user + system) / calls };
}

/**
 * Measures the requests per second of a route. Each connection waits for a response before it sends the next request.
 *
 * @param options `seconds`: duration; `connections`; `method`, `headers` and `body` of every request (default: GET without
 *   headers); `headersOf`: returns further headers for each request
 */
export async function requestsPerSecond(url, { seconds, connections = 64, headersOf, ...request }) {
  const autocannon = createRequire(import.meta.url)('autocannon');
  const setupRequest = (one) => ({ ...one, headers: { ...request.headers, ...headersOf() } });
  const each = headersOf === undefined ? {} : { requests: [{ ...request, setupRequest }] };
  const result = await autocannon({ url, connections, duration: seconds, ...request, ...each });
  const { non2xx, errors } = result;
  if (non2xx > 0 || errors > 0) throw new Error(`${non2xx} refusals and ${errors} errors at ${url}`);
  return result.requests.total / seconds;
}

/**
 * Measures a route of an app that has the routes of usage.mjs. Returns requests per second, and the CPU time of the app's process
 * per request.
 *
 * @param options as for requestsPerSecond
 */
export async function measureRoute(port, path, options) {
  const app = `http://127.0.0.1:${port}`;
  const usage = async () => (await (await globalThis.fetch(`${app}/usage`)).json()).cpuMicros;
  const before = await usage();
  const perSecond = await requestsPerSecond(`${app}${path}`, options);
  return { perSecond, cpuMicros: ((await usage()) - before) / (perSecond * options.seconds) };
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const mapValues = (object, convert) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, convert(value, key)]));

/** The medians of what some runs measured, and the runs. */
export function figuresOf(runs) {
  return { ...mapValues(runs[0], (_, key) => median(runs.map((run) => run[key]))), runs };
}

/**
 * Runs every contender once in each round, in a changing order, so that a change of the machine's speed affects all contenders.
 * Returns the medians and the runs by contender. `prepare` runs before each contender and is not measured.
 */
export async function rounds(count, contenders, prepare) {
  const results = mapValues(contenders, () => []);
  for (let round = 0; round < count; round++) {
    const names = Object.keys(contenders);
    for (let i = 0; i < names.length; i++) {
      const name = names[(i + round) % names.length];
      await prepare(name);
      results[name].push(await contenders[name]());
    }
  }
  return mapValues(results, figuresOf);
}

const digits = (value) => Number(value.toPrecision(4));

/** The smallest and the largest of some values; undefined for one value. */
const rangeOf = (values) =>
  values.length > 1 ? [digits(Math.min(...values)), digits(Math.max(...values))] : undefined;

/**
 * Makes a row of results. A ratio above 1 is better for luanest, also if lower values are better. With the runs of several
 * rounds, a ratio is the median of the rounds' ratios, and the row has the smallest and largest value and ratio.
 */
export function row(name, unit, figures, pick, lowerIsBetter) {
  const runs = mapValues(figures, (figure) => (figure.runs ?? [figure]).map(pick));
  const { luanest, ...others } = runs;
  const ratios = mapValues(others, (values) =>
    values.map((value, i) => (lowerIsBetter ? value / luanest[i] : luanest[i] / value)),
  );
  const middle = (values) => digits(median(values));
  const ranges = luanest.length > 1 && { range: mapValues(runs, rangeOf), ratioRange: mapValues(ratios, rangeOf) };
  const { peers, ratio } = { peers: mapValues(others, middle), ratio: mapValues(ratios, middle) };
  return { case: name, unit, luanest: middle(luanest), peers, ratio, ...ranges };
}

/** Collects rows; `add` also prints them. */
export function collect(print) {
  const rows = [];
  const add = (added) => {
    rows.push(added);
    const ratios = Object.entries(added.ratio).map(([peer, ratio]) => `${ratio.toFixed(2)} x ${peer}`);
    print(`${added.case}: ${added.luanest} ${added.unit}${ratios.length > 0 ? ` (${ratios.join(', ')})` : ''}`);
  };
  return { rows, add };
}

/** Clients with which the same cases are measured: the end of the cases' names, and the package. */
export const CLIENTS = { '': 'ioredis', '-ioredis5': 'ioredis5' };

/**
 * Returns what Redis has used since it started: CPU of its main thread, µs; time in scripts that clients sent, µs; commands,
 * with those that scripts call.
 */
export async function redisUsage(admin) {
  const info = await admin.info('all');
  const sum = (pattern) => [...info.matchAll(pattern)].reduce((total, [, value]) => total + Number(value), 0);
  return {
    cpuMicros: 1e6 * sum(/used_cpu_(?:user|sys)_main_thread:([\d.]+)/g),
    scriptMicros: sum(/cmdstat_eval(?:sha)?:calls=\d+,usec=(\d+)/g),
    commands: sum(/total_commands_processed:(\d+)/g),
  };
}

/** The numbers of costOf: the end of the cases' names, the unit, and whether lower is better. */
export const COSTS = {
  perSecond: ['', 'calls/s', false],
  nodeMicros: ['-node-cpu', 'µs Node CPU/call', true],
  redisMicros: ['-redis-cpu', 'µs Redis CPU/call', true],
  scriptMicros: ['-redis-time', 'µs EVALSHA/call', true],
};

/** Measures the cost of a call for Redis and Node, if `make` makes `calls` of them, and returns what `measure` returns. */
export async function costOf(admin, calls, make) {
  const before = await redisUsage(admin);
  const { perSecond, cpuMicros } = await make();
  const after = await redisUsage(admin);
  return {
    perSecond,
    nodeMicros: cpuMicros,
    redisMicros: (after.cpuMicros - before.cpuMicros) / calls,
    scriptMicros: (after.scriptMicros - before.scriptMicros) / calls,
  };
}
