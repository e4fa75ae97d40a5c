import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../lua/scripts';
import { filesOf } from './rooms';

/** A small change of the TypeScript. */
export interface Mutant {
  readonly id: string;
  /** Path below the root of the project. */
  readonly path: string;
  /** Starts at 1. */
  readonly line: number;
  /** The line without spaces at its ends. */
  readonly lineText: string;
  /** Name of the mutator of Stryker. */
  readonly kind: string;
  readonly from: string;
  readonly to: string;
  /** Index among mutants with the same line, kind, `from` and `to`. */
  readonly nth: number;
}

export interface Instrumented {
  /** Source with all mutants, by path. */
  readonly texts: Readonly<Record<string, string>>;
  readonly mutants: readonly Mutant[];
  /** Number of mutants that are left out, by path. */
  readonly ignored: Readonly<Record<string, number>>;
}

/** The part of a node of Babel that is read here. */
interface SyntaxPath {
  readonly node: { readonly type: string; readonly callee?: SyntaxPath['node']; readonly name?: string };
  readonly parentPath: SyntaxPath | null;
}

interface Place {
  readonly line: number;
  readonly column: number;
}

interface StrykerInstrumenter {
  instrument(
    files: readonly { name: string; mutate: boolean; content: string }[],
    options: object,
  ): Promise<{
    files: readonly { name: string; content: string }[];
    mutants: readonly {
      id: string;
      fileName: string;
      mutatorName: string;
      replacement: string;
      location: { start: Place; end: Place };
      status?: string;
    }[];
  }>;
}

/** Texts of errors. Their wording decides nothing. */
const errorTexts = {
  shouldIgnore(path: SyntaxPath): string | undefined {
    if (path.node.type !== 'StringLiteral' && path.node.type !== 'TemplateLiteral') return undefined;
    for (let outer = path.parentPath; outer !== null; outer = outer.parentPath) {
      const { type, callee } = outer.node;
      if (type === 'NewExpression' && /(Error|Exception|Failure)$/.test(callee?.name ?? '')) return 'text of an error';
      if (/Function|Statement|Declaration/.test(type)) return undefined;
    }
    return undefined;
  },
};

/** Returns the sources of a lib's rooms with all mutants in them, each behind a switch. */
export async function instrument(lib: string): Promise<Instrumented> {
  // It is loaded here, since only this command needs it.
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an ES module, which swc would load in the same way
  const { Instrumenter } = require('@stryker-mutator/instrumenter') as {
    Instrumenter: new (logger: object) => StrykerInstrumenter;
  };
  const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, isDebugEnabled: () => false };
  const paths = filesOf(lib);
  const sources = new Map(paths.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]));
  const { files, mutants } = await new Instrumenter(silent).instrument(
    paths.map((path) => ({ name: path, mutate: true, content: sources.get(path) as string })),
    { plugins: ['decorators-legacy'], excludedMutations: [], ignorers: [errorTexts], noHeader: false },
  );
  const ignored: Record<string, number> = {};
  const seen = new Map<string, number>();
  const read = mutants.flatMap(({ id, fileName: path, mutatorName: kind, replacement: to, location, status }) => {
    if (status === 'Ignored') {
      ignored[path] = (ignored[path] ?? 0) + 1;
      return [];
    }
    const source = sources.get(path) as string;
    const { start, end } = location;
    const from = source.slice(offsetOf(source, start), offsetOf(source, end));
    const lineText = (source.split('\n')[start.line] ?? '').trim();
    const key = JSON.stringify([path, lineText, kind, from, to]);
    const nth = seen.get(key) ?? 0;
    seen.set(key, nth + 1);
    return [{ id, path, line: start.line + 1, lineText, kind, from, to, nth }];
  });
  return { texts: Object.fromEntries(files.map(({ name, content }) => [name, content])), mutants: read, ignored };
}

function offsetOf(source: string, { line, column }: Place): number {
  const lines = source.split('\n').slice(0, line);
  return lines.reduce((sum, { length }) => sum + length + 1, 0) + column;
}
