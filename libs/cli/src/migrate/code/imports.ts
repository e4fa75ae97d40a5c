import type * as ts from 'typescript';
import type { Edit } from './edits';
import type { TypeScript } from './typescript';

interface File {
  readonly source: ts.SourceFile;
  readonly text: string;
  add(...edits: readonly Edit[]): void;
  indentAt(position: number): string;
  removeLines(node: ts.Node): void;
}

/** An imported name. `name` is the name in the module (`default` for a default import), `local` the name in the file. */
interface Imported {
  readonly name: string;
  readonly local: string;
  readonly node: ts.ImportSpecifier | ts.Identifier;
}

/** The imports of a file, and the names that a codemod adds and removes. */
export class Imports {
  private readonly wanted = new Map<string, Map<string, boolean>>();
  private readonly dropped = new Set<ts.Node>();

  constructor(
    private readonly file: File,
    private readonly typescript: TypeScript,
  ) {}

  /** Returns the names that the file imports from a module. */
  from(module: string): Imported[] {
    return this.declarations(module).flatMap((declaration) => this.importedBy(declaration));
  }

  /** Returns the name under which the file imports `name`; undefined if the file does not import it. */
  local(module: string, name: string): string | undefined {
    return this.from(module).find((imported) => imported.name === name)?.local;
  }

  /**
   * Returns the import of a whole module as one object (`import * as x`); undefined if there is none. The other methods do not see names
   * that are used through such an object.
   */
  wholesale(module: string): ts.Node | undefined {
    const named = this.declarations(module).find(
      ({ importClause }) =>
        importClause?.namedBindings && this.typescript.isNamespaceImport(importClause.namedBindings),
    );
    return named;
  }

  /** Imports a name, unless the file imports it already. @param type true if the name is used only as a type */
  want(module: string, name: string, type = false): void {
    if (this.local(module, name) !== undefined) return;
    const names = this.wanted.get(module) ?? new Map<string, boolean>();
    names.set(name, type && names.get(name) !== false);
    this.wanted.set(module, names);
  }

  /** Removes a name from the imports. */
  drop(module: string, name: string): void {
    const imported = this.from(module).find((found) => found.name === name);
    if (imported) this.dropped.add(imported.node);
  }

  /** Adds the edits for all imported and removed names to the file. */
  finish(): void {
    const lines: string[] = [];
    for (const [module, names] of this.wanted) {
      const [existing] = this.declarations(module).filter(({ importClause }) => importClause?.isTypeOnly !== true);
      const bindings = existing?.importClause?.namedBindings;
      if (bindings && this.typescript.isNamedImports(bindings)) this.extend(bindings, names);
      else lines.push(this.line(module, names));
    }
    this.wanted.clear();
    const shrunk = new Set([...this.dropped].map((node) => this.declarationOf(node)));
    let place: { start: number; end: number } | undefined;
    for (const declaration of shrunk) {
      const left = this.importedBy(declaration).filter(({ node }) => !this.dropped.has(node));
      const range = { start: declaration.getStart(), end: declaration.end };
      if (left.length > 0) {
        this.file.add({ ...range, text: this.shrunken(declaration, left) });
        continue;
      }
      if (place === undefined && lines.length > 0) {
        place = range;
        continue;
      }
      this.file.removeLines(declaration);
    }
    this.dropped.clear();
    if (lines.length === 0) return;
    if (place) return this.file.add({ ...place, text: lines.join('\n') });
    const packages = this.all().filter(({ moduleSpecifier }) => !moduleSpecifier.getText().slice(1).startsWith('.'));
    const last = packages.at(-1) ?? this.all().at(-1);
    if (last) this.file.add({ start: last.end, end: last.end, text: `\n${lines.join('\n')}` });
    else this.file.add({ start: 0, end: 0, text: `${lines.join('\n')}\n` });
  }

  private all(): ts.ImportDeclaration[] {
    return this.file.source.statements.filter((statement) => this.typescript.isImportDeclaration(statement));
  }

  private declarations(module: string): ts.ImportDeclaration[] {
    return this.all().filter((declaration) => (declaration.moduleSpecifier as ts.StringLiteral).text === module);
  }

  private importedBy({ importClause }: ts.ImportDeclaration): Imported[] {
    const { name, namedBindings } = importClause ?? {};
    const found: Imported[] = name ? [{ name: 'default', local: name.text, node: name }] : [];
    if (!namedBindings || !this.typescript.isNamedImports(namedBindings)) return found;
    const named = namedBindings.elements.map((node) => ({
      name: (node.propertyName ?? node.name).text,
      local: node.name.text,
      node,
    }));
    return [...found, ...named];
  }

  private declarationOf(node: ts.Node): ts.ImportDeclaration {
    let at = node;
    while (!this.typescript.isImportDeclaration(at)) at = at.parent;
    return at;
  }

  private shrunken(declaration: ts.ImportDeclaration, left: readonly Imported[]): string {
    const base = left.find(({ name }) => name === 'default');
    const named = left.filter(({ name }) => name !== 'default').map(({ node }) => node.getText());
    const type = declaration.importClause?.isTypeOnly === true ? 'type ' : '';
    const parts = [...(base ? [base.local] : []), ...(named.length > 0 ? [`{ ${named.join(', ')} }`] : [])];
    return `import ${type}${parts.join(', ')} from ${declaration.moduleSpecifier.getText()}${this.semicolon()}`;
  }

  private extend({ elements, end }: ts.NamedImports, names: ReadonlyMap<string, boolean>): void {
    const added = [...names].map(([name, type]) => (type ? `type ${name}` : name));
    const last = elements.at(-1);
    if (!last) return this.file.add({ start: end - 1, end: end - 1, text: ` ${added.join(', ')} ` });
    const multiline = this.file.text.slice(last.end, end).includes('\n');
    const separator = multiline ? `,\n${this.file.indentAt(last.getStart())}` : ', ';
    this.file.add({ start: last.end, end: last.end, text: added.map((name) => separator + name).join('') });
  }

  private line(module: string, names: ReadonlyMap<string, boolean>): string {
    const types = [...names.values()].every((type) => type);
    const list = [...names].map(([name, type]) => (type && !types ? `type ${name}` : name)).sort();
    return `import ${types ? 'type ' : ''}{ ${list.join(', ')} } from ${this.quoted(module)}${this.semicolon()}`;
  }

  /** Quotes a text as the imports of the file do, with ' or ". */
  quoted(text: string): string {
    const quote = this.all()[0]?.moduleSpecifier.getText()[0] ?? "'";
    return `${quote}${text}${quote}`;
  }

  private semicolon(): string {
    const [first] = this.all();
    return first && !first.getText().endsWith(';') ? '' : ';';
  }
}
