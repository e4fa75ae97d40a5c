import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import type * as ts from 'typescript';
import { EditedFile, type Note } from './edited-file';
import { Syntax } from './syntax';
import type { TypeScript } from './typescript';

const IGNORED = new Set(['node_modules', 'dist', 'build', 'coverage']);
const SOURCE = /(?<!\.d)\.[mc]?tsx?$/;

/** The TypeScript files of an app, with the edits of a codemod. */
export class Project {
  readonly files: readonly EditedFile[];
  readonly syntax: Syntax;

  /** The field `name` of package.json without its scope, or `app` if package.json has no name. */
  readonly name: string;

  constructor(folder: string, typescript: TypeScript) {
    this.name = nameOf(folder);
    this.syntax = new Syntax(typescript);
    this.files = sourcesBelow(folder).map(
      (path) => new EditedFile(relative(folder, path).split(sep).join('/'), readFileSync(path, 'utf8'), typescript),
    );
  }

  /** Returns the files that import at least one name from a module. */
  importing(module: string): EditedFile[] {
    for (const file of this.files.filter(({ text }) => text.includes(module))) {
      const whole = file.imports.wholesale(module);
      const text = `Import names from ${module} instead of the whole module, then run luanest migrate again`;
      if (whole) file.note(whole, 'must', text);
    }
    return this.files.filter((file) => file.text.includes(module) && file.imports.from(module).length > 0);
  }

  /** Returns true if any file imports this name from the module. */
  imports(module: string, name: string): boolean {
    return this.files.some((file) => file.text.includes(name) && file.imports.local(module, name) !== undefined);
  }

  /** Finds the root module of the app: the class that is passed to NestFactory.create, or else the class AppModule. */
  rootModule(): { readonly file: EditedFile; readonly type: ts.ClassDeclaration } | undefined {
    const [, name = 'AppModule'] =
      this.files
        .map(({ text }) => /NestFactory\s*\.\s*create\w*\s*(?:<[^(]*>)?\(\s*(\w+)/.exec(text))
        .find((match) => match !== null) ?? [];
    for (const file of this.files) {
      const type = this.syntax.classes(file.source).find((found) => found.name?.text === name);
      if (type && this.syntax.decorator(type, 'Module')) return { file, type };
    }
    return undefined;
  }

  notes(): Note[] {
    return this.files.flatMap(({ notes }) => [...notes].sort((a, b) => a.line - b.line));
  }
}

function nameOf(folder: string): string {
  try {
    const { name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { readonly name?: unknown };
    return typeof name === 'string' && name !== '' ? name.replace(/^@[^/]*\//, '') : 'app';
  } catch {
    return 'app';
  }
}

function sourcesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return IGNORED.has(entry.name) || entry.name.startsWith('.') ? [] : sourcesBelow(path);
      return entry.isFile() && SOURCE.test(entry.name) ? [path] : [];
    });
}
