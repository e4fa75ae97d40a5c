import { join } from 'node:path';
import { mutated, mutationsOf, statementStarts, type Mutation } from './mutations';
import { parse } from './syntax';

export const ROOT = join(__dirname, '..', '..', '..');

export interface LuaFile {
  readonly path: string;
  readonly text: string;
}

interface LuaScript {
  readonly source: readonly LuaFile[];
  readonly shared: readonly LuaFile[];
  readonly finish: readonly LuaFile[];
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- an ES module, which a CommonJS file loads this way
const { partsOf, readScripts } = require('../../../tools/lua-scripts.mjs') as {
  partsOf(this: void, script: LuaScript): (string | LuaFile)[];
  readScripts(this: void, root: string): Map<string, readonly LuaScript[]>;
};

export interface Mutant extends Mutation {
  readonly lib: string;
  /** Path of the file from the root of the project. */
  readonly path: string;
  readonly line: number;
  /** The line without spaces at its ends: it finds the place again in a later version. */
  readonly lineText: string;
  /** Number of the mutant among those with the same path, line and kind. */
  readonly nth: number;
}

/** The scripts of a lib, joined from their files. */
export class LibScripts {
  readonly files: readonly LuaFile[];

  private constructor(
    readonly lib: string,
    private readonly scripts: readonly LuaScript[],
  ) {
    const all = scripts.flatMap((script) => [...script.shared, ...script.source, ...script.finish]);
    this.files = [...new Map(all.map((file) => [file.path, file])).values()];
  }

  /** Returns the scripts of all libs, by lib. */
  static read(): Map<string, LibScripts> {
    const found = new Map<string, LibScripts>();
    for (const [folder, scripts] of readScripts(ROOT)) {
      const lib = folder.split('/').at(-3) ?? '';
      if (scripts.length > 0) found.set(lib, new LibScripts(lib, scripts));
    }
    return found;
  }

  /** Returns all mutants of the files. A file that several scripts include is mutated once, in all of them. */
  mutants(): Mutant[] {
    return this.files.flatMap((file) => {
      const counted = new Map<string, number>();
      return mutationsOf(file.text, this.countsOf(file)).map((mutation): Mutant => {
        const before = file.text.slice(0, mutation.from).split('\n');
        const lineText = (file.text.split('\n')[before.length - 1] ?? '').trim();
        const key = `${lineText} ${mutation.kind}`;
        const nth = (counted.get(key) ?? 0) + 1;
        counted.set(key, nth);
        return { ...mutation, lib: this.lib, path: file.path, line: before.length, lineText, nth };
      });
    });
  }

  /** Returns the texts of the scripts that change with one file, by their unchanged texts. */
  withFile(path: string, text: string): Map<string, string> {
    const replaced = new Map<string, string>();
    for (const script of this.scripts) {
      const before = joined(script, (file) => file.text);
      const after = joined(script, (file) => (file.path === path ? text : file.text));
      if (before !== after) replaced.set(before, after);
    }
    return replaced;
  }

  textsOf(mutant: Mutant): Map<string, string> {
    const file = this.files.find(({ path }) => path === mutant.path);
    return this.withFile(mutant.path, mutated(file?.text ?? '', mutant));
  }

  /** Returns all scripts with a call of `mark` before each statement: `luanest.ran`, the number of the file, the position. */
  marked(): Map<string, string> {
    const marks = new Map(this.files.map((file, index) => [file.path, marked(file.text, index)]));
    return new Map(
      this.scripts.map((script) => [
        joined(script, (file) => file.text),
        joined(script, (file) => marks.get(file.path) ?? ''),
      ]),
    );
  }

  /** Keys and arguments of the script that has the most of them, of those with this file. */
  private countsOf(file: LuaFile): { KEYS: number; ARGV: number } {
    const counts = { KEYS: 0, ARGV: 0 };
    for (const { shared, source, finish } of this.scripts) {
      const files = [...shared, ...source, ...finish];
      if (!files.some(({ path }) => path === file.path)) continue;
      for (const { text } of files) {
        for (const { table, number } of parse(text).indexes)
          counts[table] = Math.max(counts[table], Number(number.text));
      }
    }
    return counts;
  }
}

function joined(script: LuaScript, textOf: (file: LuaFile) => string): string {
  return partsOf(script)
    .map((part) => (typeof part === 'string' ? part : textOf(part)))
    .join('');
}

function marked(text: string, file: number): string {
  let result = '';
  let at = 0;
  for (const from of statementStarts(text)) {
    result += `${text.slice(at, from)}redis.call('luanest.ran', '${file}', '${from}'); `;
    at = from;
  }
  return result + text.slice(at);
}
