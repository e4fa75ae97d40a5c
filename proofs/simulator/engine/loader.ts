import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { compileFunction } from 'node:vm';

const ROOT = join(__dirname, '..', '..', '..');
const PARAMETERS = ['exports', 'require', 'module', '__filename', '__dirname'];
/** Each simulated process has modules of its own of the libs. They share all others, such as Nest and ioredis: these keep no state. */
const LIBS = join(ROOT, 'libs/');
const SHARED = join(LIBS, 'memory-redis/');

type HostRequire = ReturnType<typeof createRequire>;
type Require = (request: string) => unknown;
type Instantiate = (exports: object, require: Require, module: Module, file: string, folder: string) => void;

interface Module {
  exports: object;
}

/** A file that was compiled once. Each process runs it again. */
interface Compiled {
  readonly run: Instantiate;
  readonly hostRequire: HostRequire;
  /** The files of its requests. */
  readonly resolved: Map<string, string>;
}

const compiled = new Map<string, Compiled>();
// eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/unbound-method -- a file without types
const { transpile } = require('../../../test/support/transpile.cjs') as {
  transpile(file: string, syntax: string, lazy: boolean, source: string): string;
};

/** Constants that are too large for a run of seconds, or that releases of an app may differ in. Path from the root, text, replacement. */
const CONSTANTS: Defect = [
  ['libs/delayed-task/src/worker/settlements.ts', 'UNKNOWN_MS = 86_400_000;', 'UNKNOWN_MS = 3_000;'],
  ['libs/lock/src/lock.options.ts', 'pollMs: 1_000,', 'pollMs: [300, 1_000, 5_000][process.pid % 3],'],
  [
    'libs/scheduled-lock/src/scheduled-lock.options.ts',
    'deadlineMs: 2_000,',
    'deadlineMs: [300, 2_000][Math.floor(process.pid / 100) % 2],',
  ],
  // In a third of the runs, the checks of a group come so often that a run has many of them.
  [
    'libs/stream-consumer/src/consumer/maintenance.ts',
    'CHECK_EVERY_MS = 10_000;',
    'CHECK_EVERY_MS = process.ppid % 3 === 0 ? 1_000 : 10_000;',
  ],
  [
    'libs/stream-consumer/src/streams/stream-catalog.ts',
    'KEPT_MS = 20_000;',
    'KEPT_MS = process.ppid % 3 === 0 ? 2_000 : 20_000;',
  ],
  [
    'libs/stream-consumer/src/streams/stream-catalog.ts',
    'ANNOUNCE_EVERY_MS = 30_000;',
    'ANNOUNCE_EVERY_MS = process.ppid % 3 === 0 ? 3_000 : 30_000;',
  ],
  ['libs/rate-limit/src/limiter/resilient-limiter.ts', 'cachedRefusals: 10_000,', 'cachedRefusals: 2,'],
];

/** Texts of files of the libs that are replaced, to see whether a defect is found: path from the root, text, replacement. */
export type Defect = readonly (readonly [file: string, text: string, replacement: string])[];
/** The libs have this text instead, by file. */
const replaced = new Map<string, string>();

useDefect(CONSTANTS);

/**
 * Makes all processes load the libs with a defect. Scripts in Lua are texts in `generated.ts`. Call it before the first one starts.
 *
 * @throws Error if a file does not have the text exactly once
 */
export function useDefect(defect: Defect): void {
  for (const [path, text, replacement] of defect) {
    const isLua = path.endsWith('.lua');
    const file = join(ROOT, isLua ? path.replace(/scripts\/.*/, 'scripts/generated.ts') : path);
    const [from, to] = isLua ? [quoted(text), quoted(replacement)] : [text, replacement];
    const source = replaced.get(file) ?? readFileSync(file, 'utf8');
    if (source.split(from).length !== 2) throw new Error(`${path} does not have this text once: ${text}`);
    replaced.set(
      file,
      source.replace(from, () => to),
    );
  }
}

function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function compile(file: string): Compiled {
  const known = compiled.get(file);
  if (known) return known;
  const run = compileFunction(
    transpile(file, 'typescript', false, replaced.get(file) ?? readFileSync(file, 'utf8')),
    PARAMETERS,
    {
      filename: file,
    },
  ) as Instantiate;
  const one = { run, hostRequire: createRequire(file), resolved: new Map<string, string>() };
  compiled.set(file, one);
  return one;
}

/** The modules of one simulated process. */
export class Modules {
  private readonly loaded = new Map<string, Module>();

  /** Loads a lib, such as `luanest/lock`, a package, or a file by its path from the root of the repository. */
  load(request: string): unknown {
    return this.require(join(ROOT, 'package.json'), compileNothing, request);
  }

  private require(from: string, { hostRequire, resolved }: Omit<Compiled, 'run'>, request: string): unknown {
    let file = resolved.get(request);
    if (file === undefined) {
      file = resolve(hostRequire, request, from);
      resolved.set(request, file);
    }
    if (!file.startsWith(LIBS) || file.startsWith(SHARED)) return hostRequire(file) as unknown;
    return this.instance(file);
  }

  private instance(file: string): object {
    const known = this.loaded.get(file);
    if (known) return known.exports;
    const module: Module = { exports: {} };
    this.loaded.set(file, module);
    const one = compile(file);
    one.run.call(
      module.exports,
      module.exports,
      (request) => this.require(file, one, request),
      module,
      file,
      dirname(file),
    );
    return module.exports;
  }
}

const compileNothing = { hostRequire: createRequire(join(ROOT, 'package.json')), resolved: new Map<string, string>() };

function resolve(hostRequire: HostRequire, request: string, from: string): string {
  const [, lib, room = ''] = /^luanest\/([^/]+)\/?(.*)$/.exec(request) ?? [];
  if (lib !== undefined) return join(ROOT, 'libs', lib, 'src', room, 'index.ts');
  try {
    return hostRequire.resolve(request);
  } catch (error) {
    throw new Error(`${from} requires ${request}, which is not there.`, { cause: error });
  }
}
