import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import ts from 'typescript';
import { blocksOf } from './markdown';

export const ROOT = join(__dirname, '..', '..');

/** Returns every document with code that readers may copy, without translations: translations.spec.ts compares their code. */
export function documents(): string[] {
  const libs = readdirSync(join(ROOT, 'libs')).map((lib) => `libs/${lib}/README.md`);
  const docs = readdirSync(join(ROOT, 'docs'))
    .filter((file) => file.endsWith('.md') && !file.endsWith('.zh-CN.md'))
    .map((file) => `docs/${file}`);
  return ['README.md', 'ARCHITECTURE.md', ...libs, ...docs].filter((file) => existsSync(join(ROOT, file)));
}

/**
 * Returns the TypeScript blocks of a document by path. A block whose first line is a name is in the folder of a README, or in a folder
 * that is named like another page. Others have the name of the document, and a number.
 */
export function snippetsOf(file: string): Map<string, string> {
  return new Map(
    blocksOf(file, 'ts').map((code, i) => {
      const name = /^\/\/ ([\w.-]+\.ts)\n/.exec(code)?.[1];
      const path =
        name === undefined
          ? `${file}.${i + 1}.ts`
          : join(dirname(file), basename(file, '.md').replace(/^README$/, ''), name);
      return [join(ROOT, path), code];
    }),
  );
}

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.CommonJS,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  esModuleInterop: true,
};

/**
 * Runs a snippet and the snippets that it imports, and returns its exports.
 *
 * @param adapt makes the changes that a reader would make, such as the addresses of servers
 * @param load returns the modules that the snippets import from packages
 */
export function runSnippet<T>(
  files: ReadonlyMap<string, string>,
  path: string,
  adapt: (code: string) => string,
  load: (name: string) => unknown,
): T {
  const loaded = new Map<string, unknown>();
  const run = (file: string): unknown => {
    if (loaded.has(file)) return loaded.get(file);
    const code = files.get(file);
    if (code === undefined) throw new Error(`There is no snippet ${file}`);
    const { outputText } = ts.transpileModule(adapt(code), { compilerOptions: OPTIONS });
    const exports = {};
    loaded.set(file, exports);
    const need = (name: string): unknown =>
      name.startsWith('.') ? run(`${join(dirname(file), name.replace(/\.js$/, ''))}.ts`) : load(name);
    // eslint-disable-next-line @typescript-eslint/no-implied-eval, @typescript-eslint/no-unsafe-call -- the document is ours
    new Function('require', 'exports', outputText)(need, exports);
    return exports;
  };
  return run(path) as T;
}
