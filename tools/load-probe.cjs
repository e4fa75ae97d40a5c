// Measures what imports load, in a process of its own: node --expose-gc load-probe.cjs files|cost MODULE...
// Nest and the client of Redis are loaded before, because the app has them anyway.
const { createRequire } = require('node:module');
const { Session } = require('node:inspector');
const { statSync } = require('node:fs');
const { join } = require('node:path');
const { fileURLToPath } = require('node:url');

const [what, ...modules] = process.argv.slice(2);
const load = createRequire(join(process.cwd(), 'app.cjs'));

/** Loads what is there of these. */
function loadIfThere(names) {
  for (const name of names) {
    try {
      load.resolve(name);
    } catch {
      continue;
    }
    load(name);
  }
}

loadIfThere(['reflect-metadata', '@nestjs/common', '@nestjs/core', 'ioredis', 'redis']);

function files() {
  const urls = new Set();
  const session = new Session();
  session.connect();
  session.on('Debugger.scriptParsed', ({ params }) => urls.add(params.url));
  session.post('Debugger.enable');
  const before = new Set(urls);
  for (const name of modules) load(name);
  const added = [...urls].filter((url) => url.startsWith('file:') && !before.has(url)).map((url) => fileURLToPath(url));
  session.disconnect();
  return { files: added.length, bytes: added.reduce((sum, file) => sum + statSync(file).size, 0) };
}

function cost() {
  globalThis.gc();
  const heap = process.memoryUsage().heapUsed;
  const cpu = process.cpuUsage();
  for (const name of modules) load(name);
  const { user, system } = process.cpuUsage(cpu);
  globalThis.gc();
  return { cpuMs: (user + system) / 1_000, heapBytes: process.memoryUsage().heapUsed - heap };
}

console.log(JSON.stringify(what === 'files' ? files() : cost()));
