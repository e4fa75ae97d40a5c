import type * as ts from 'typescript';
import type { EditedFile } from '../code/edited-file';
import { addToRoot, type NestModule, registryModule } from '../code/nest-modules';
import type { Project } from '../code/project';
import type { Migration } from '../migration';
import { RedlockCalls } from './calls';
import { type Owner, Owners, type Provider, REDLOCK } from './owners';

const LOCK = 'luanest/lock';

/** Names of redlock with their replacements in luanest/lock. */
const RENAMED: Readonly<Record<string, { readonly to: string; readonly type?: boolean }>> = {
  ExecutionError: { to: 'LockBusyError' },
  ResourceLockedError: { to: 'LockBusyError' },
  Lock: { to: 'Lock', type: true },
};

/** Codemod `luanest migrate redlock`: replaces a Redlock of one server by LockService. */
export const redlock: Migration = {
  guide: 'from-redlock.md',
  afterwards: ['npm install luanest ioredis', 'npm uninstall redlock'],
  migrate: (project) => new RedlockProject(project).migrate(),
};

class RedlockProject {
  private readonly owners: Owners;
  private changed = false;

  constructor(private readonly project: Project) {
    this.owners = new Owners(project);
  }

  migrate(): void {
    const files = this.project.importing(REDLOCK);
    if (this.refusesQuorum(files)) return;
    const providers = this.owners.providers();
    const converted = new Set<string>();
    for (const file of files) {
      for (const owner of this.owners.of(file)) this.convertOwner(file, owner, providers, converted);
    }
    for (const provider of providers) if (converted.has(provider.token)) this.removeProvider(provider);
    for (const file of files) this.convertNames(file);
    if (this.changed) this.addModules(files);
  }

  /**
   * Returns true if a Redlock has several servers, or an unknown number of them. Several servers decide by majority (quorum), which
   * luanest/lock does not support, so nothing is changed then.
   */
  private refusesQuorum(files: readonly EditedFile[]): boolean {
    let refused = false;
    for (const file of files) {
      for (const made of this.owners.made(file, file.source)) {
        const servers = this.owners.servers(made);
        if (servers === 1) continue;
        refused = true;
        const text =
          servers === undefined
            ? 'This Redlock was not converted, because its servers are not a literal list. Only a Redlock of one server or one Cluster can be converted'
            : `This Redlock was not converted: it uses ${servers} servers, and a lock of luanest is stored on one server. Stay with redlock, or read docs/from-redlock.md`;
        file.note(made, 'must', text);
      }
    }
    return refused;
  }

  private convertOwner(file: EditedFile, owner: Owner, providers: readonly Provider[], converted: Set<string>): void {
    const calls = new RedlockCalls(file, this.project);
    if (owner.parameter?.type) {
      const token = this.owners.tokenOf(owner.parameter);
      const made = providers.find((provider) => provider.token === token)?.made;
      const inject = this.owners.injectOf(owner.parameter);
      if (inject) this.removeInject(file, inject, owner.parameter);
      file.replace(owner.parameter.type, 'LockService');
      calls.convert(owner.name, owner.type, this.owners.retries(made));
      converted.add(token);
    } else if (!this.injectInto(file, owner)) {
      return;
    } else calls.convert(owner.name, owner.type, this.owners.retries(owner.made));
    file.imports.want(LOCK, 'LockService');
    this.changed = true;
  }

  private removeInject(file: EditedFile, inject: ts.CallExpression, parameter: ts.ParameterDeclaration): void {
    const next = parameter.modifiers?.find((modifier) => modifier.getStart() > inject.end) ?? parameter.name;
    file.add({ start: inject.parent.getStart(), end: next.getStart(), text: '' });
    const { syntax } = this.project;
    const others = syntax.uses(file, 'Inject').length > 1;
    if (!others) file.imports.drop('@nestjs/common', 'Inject');
    const [token] = inject.arguments;
    // The token is a constant of another file. This file no longer uses it, so its import is removed.
    if (token && syntax.ts.isIdentifier(token) && syntax.uses(file, token.text).length === 1)
      this.dropImported(file, token.text);
  }

  private dropImported(file: EditedFile, local: string): void {
    for (const statement of file.source.statements.filter(this.project.syntax.ts.isImportDeclaration)) {
      const module = (statement.moduleSpecifier as ts.StringLiteral).text;
      const found = file.imports.from(module).find((imported) => imported.local === local);
      if (found) file.imports.drop(module, found.name);
    }
  }

  /** Makes a class that creates a Redlock inject a LockService instead. @returns false if the class cannot be changed */
  private injectInto(file: EditedFile, { type, property, assignment, name }: Owner): boolean {
    const { syntax } = this.project;
    if (!property) return false;
    if (
      !syntax
        .decorators(type)
        .some((found) => /^(Injectable|Controller|Resolver|Processor)$/.test(syntax.nameOfDecorator(found)))
    ) {
      file.note(
        type,
        'must',
        'Nest does not create this class, so it cannot get a LockService. Move the work into a provider, then run luanest migrate again',
      );
      return false;
    }
    const parameter = `private readonly ${name.slice('this.'.length)}: LockService`;
    const constructor = type.members.find(syntax.ts.isConstructorDeclaration);
    if (!constructor) {
      file.replace(property, `constructor(${parameter}) {}`);
      return true;
    }
    const last = constructor.parameters.at(-1);
    const start = last?.end ?? constructor.getStart() + constructor.getText().indexOf('(') + 1;
    const multiline = last && file.text.slice(constructor.getStart(), last.getStart()).includes('\n');
    const separator = !last ? '' : multiline ? `,\n${file.indentAt(last.getStart())}` : ', ';
    file.add({ start, end: start, text: separator + parameter });
    file.removeLines(property);
    if (assignment) file.removeLines(assignment);
    return true;
  }

  private removeProvider({ file, object, token }: Provider): void {
    const { syntax } = this.project;
    file.removeElement(object);
    for (const other of this.project.files) {
      for (const list of syntax.all(other.source, syntax.ts.isArrayLiteralExpression)) {
        const owner = list.parent;
        if (!syntax.ts.isPropertyAssignment(owner) || owner.name.getText() !== 'exports') continue;
        for (const element of list.elements) {
          if (element.getText() !== token) continue;
          if (list.elements.length === 1) other.removeElement(owner);
          else other.removeElement(element);
        }
      }
    }
  }

  private convertNames(file: EditedFile): void {
    const { syntax } = this.project;
    const imported = file.imports.from(REDLOCK);
    for (const { name, local } of imported) {
      const uses = syntax.uses(file, local);
      const known = RENAMED[name];
      if (known) {
        for (const use of uses) {
          if (local !== known.to) file.replace(use, known.to);
          if (known.to === 'LockBusyError')
            file.note(
              use,
              'check',
              'LockBusyError means that others hold the lock. A failure of Redis is NotSentError or UnknownOutcomeError',
            );
        }
        if (uses.length > 0) file.imports.want(LOCK, known.to, known.type === true);
      } else if (name === 'RedlockAbortSignal') for (const use of uses) file.replace(use, 'AbortSignal');
      else if (name !== 'default' && name !== 'Redlock') {
        for (const use of uses)
          file.note(use, 'must', `${name} has no equivalent in luanest/lock. Remove it, or replace it by hand`);
        if (uses.length > 0) continue;
      }
      // The import of Redlock stays if some uses of it could not be changed.
      if ((name === 'default' || name === 'Redlock') && this.left(file, local)) continue;
      file.imports.drop(REDLOCK, name);
    }
  }

  /** Adds a note for each use of Redlock that is left after the edits. @returns true if a use is left */
  private left(file: EditedFile, local: string): boolean {
    const left = this.project.syntax.uses(file, local).filter((use) => !file.touches(use));
    for (const use of left)
      file.note(
        use,
        'must',
        'This Redlock was not converted, because Nest does not inject it. Inject LockService into the class that takes the lock',
      );
    return left.length > 0;
  }

  private addModules(files: readonly EditedFile[]): void {
    const modules: NestModule[] = [...registryModule(this.project)];
    if (!this.project.imports(LOCK, 'LockModule'))
      modules.push({ from: LOCK, name: 'LockModule', call: 'LockModule.forRoot()' });
    const root = this.project.rootModule();
    const [first] = files;
    if (!addToRoot(this.project, modules)) {
      const calls = modules.map(({ call }) => call).join(', ');
      first?.note(
        first.source,
        'must',
        `No root module was found, so nothing was added. Add this to the imports of your root module: ${calls}`,
      );
    } else if (root && modules.length > 0)
      root.file.note(root.type, 'check', 'Modules were added. Set `url` to your Redis');
  }
}
