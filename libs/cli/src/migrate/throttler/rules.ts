import type * as ts from 'typescript';
import type { EditedFile } from '../code/edited-file';
import type { Edit } from '../code/edits';
import type { Project } from '../code/project';

export const THROTTLER = '@nestjs/throttler';

const HELPERS: Readonly<Record<string, number>> = {
  seconds: 1_000,
  minutes: 60_000,
  hours: 3_600_000,
  days: 86_400_000,
  weeks: 604_800_000,
};

/** Options of a throttler that must be converted by hand, each with the text of its note. */
const BY_HAND: Readonly<Record<string, string>> = {
  getTracker: 'Replace getTracker with `subject: (context) => ...`, which gets the ExecutionContext',
  generateKey:
    'Remove generateKey, which has no equivalent: the `name` and the `subject` of a rule identify its counter',
  ignoreUserAgents: 'Replace ignoreUserAgents with the option `skip` of the rule',
  errorMessage:
    'Replace errorMessage with the option `responses: { problem: (decision, context) => ({ ... }) }` of the module',
};

const RENAMED: Readonly<Record<string, string>> = { ttl: 'windowMs', blockDuration: 'blockMs', skipIf: 'skip' };

/** Converts throttlers to rules of luanest/rate-limit. */
export class Rules {
  constructor(
    private readonly file: EditedFile,
    private readonly project: Project,
  ) {}

  /** Returns the edits that convert a throttler to a rule. @param name name of the rule if the throttler has none; undefined for no name */
  rule(object: ts.ObjectLiteralExpression, name: string | undefined): Edit[] {
    const { syntax } = this.project;
    const edits = object.properties.flatMap((property) => this.property(property));
    if (name !== undefined && !syntax.property(object, 'name')) {
      const [first] = object.properties;
      const start = first?.getStart() ?? object.end - 1;
      const multiline = first && this.file.text.slice(object.getStart(), start).includes('\n');
      const quoted = `name: ${this.file.imports.quoted(name)},`;
      edits.unshift({ start, end: start, text: multiline ? `${quoted}\n${this.file.indentAt(start)}` : `${quoted} ` });
    }
    return edits;
  }

  private property(property: ts.ObjectLiteralElementLike): Edit[] {
    const { syntax } = this.project;
    const { ts } = syntax;
    const name = syntax.nameOf(property);
    if (name === undefined) {
      this.file.note(
        property,
        'must',
        'The rule spreads another object. Rename ttl to windowMs and blockDuration to blockMs in that object',
      );
      return [];
    }
    const byHand = BY_HAND[name];
    if (byHand !== undefined) this.file.note(property, 'must', byHand);
    const renamed = RENAMED[name];
    if (renamed === undefined) return [];
    if (ts.isShorthandPropertyAssignment(property))
      return [{ start: property.getStart(), end: property.getStart(), text: `${renamed}: ` }];
    if (!property.name) return [];
    const value = ts.isPropertyAssignment(property) ? property.initializer : undefined;
    if (name === 'ttl' && (value === undefined || syntax.isFunction(value)))
      this.file.note(
        property,
        'must',
        'ttl is a function, but windowMs must be a number. Write one rule for each value of ttl, and choose the rule of a request with `skip`',
      );
    return [
      { start: property.name.getStart(), end: property.name.end, text: renamed },
      ...(value ? this.durations(value) : []),
    ];
  }

  /** Returns the edits that replace calls such as seconds(5) by a number of milliseconds. */
  durations(value: ts.Node): Edit[] {
    const { syntax } = this.project;
    return syntax.all(value, syntax.ts.isCallExpression).flatMap((call) => {
      const imported = this.file.imports.from(THROTTLER).find(({ local }) => local === call.expression.getText());
      const factor = imported && HELPERS[imported.name];
      const [argument] = call.arguments;
      if (factor === undefined || argument === undefined) return [];
      const number = syntax.number(argument);
      const plain = syntax.ts.isIdentifier(argument) || syntax.ts.isPropertyAccessExpression(argument);
      const text =
        number === undefined
          ? `${plain ? argument.getText() : `(${argument.getText()})`} * ${grouped(factor)}`
          : grouped(number * factor);
      return [{ start: call.getStart(), end: call.end, text }];
    });
  }

  /**
   * Converts the argument of `forRoot`, or the result of a factory of `forRootAsync`: a list of throttlers, or an object with one.
   *
   * @returns false, without a change, if the value has another form
   */
  options(given: ts.Expression | undefined): boolean {
    const { syntax } = this.project;
    const list = syntax.array(given);
    if (given && list) {
      const edits = this.list(list);
      if (edits === undefined) return false;
      const arrow = syntax.ts.isArrowFunction(given.parent) && given.parent.body === given;
      const [open, close] = arrow ? ['({ rules: ', ' })'] : ['{ rules: ', ' }'];
      this.file.add({ start: list.getStart(), end: list.getStart(), text: open }, ...edits);
      this.file.add({ start: list.end, end: list.end, text: close });
      return true;
    }
    const object = syntax.object(given);
    const throttlers = object && syntax.property(object, 'throttlers');
    if (!object || !throttlers?.name) return false;
    const edits = this.list(syntax.array(syntax.value(object, 'throttlers')));
    if (edits === undefined) return false;
    this.file.add({ start: throttlers.name.getStart(), end: throttlers.name.end, text: 'rules' }, ...edits);
    for (const property of object.properties) if (property !== throttlers) this.moduleOption(property);
    return true;
  }

  private list(list: ts.ArrayLiteralExpression | undefined): Edit[] | undefined {
    const objects = list?.elements.map((element) => this.project.syntax.object(element)) ?? [];
    if (objects.length === 0 || objects.includes(undefined)) return undefined;
    return (objects as ts.ObjectLiteralExpression[]).flatMap((object) => this.rule(object, 'default'));
  }

  private moduleOption(property: ts.ObjectLiteralElementLike): void {
    const { syntax } = this.project;
    const name = syntax.nameOf(property) ?? '';
    if (name === 'storage') {
      const value = syntax.ts.isPropertyAssignment(property) ? property.initializer : undefined;
      this.file.removeElement(property);
      this.dropStorage(value && syntax.ts.isNewExpression(value) ? value.expression.getText() : undefined);
      return;
    }
    if (name === 'setHeaders' && property.getText().endsWith('false'))
      return this.file.replace(property, 'responses: { headers: false }');
    const byHand =
      BY_HAND[name] ?? (name === 'skipIf' ? 'Replace skipIf with the option `skip` of each rule' : undefined);
    this.file.note(
      property,
      'must',
      byHand ?? `${name || 'The spread object'} has no equivalent in RateLimitModule. Remove it, or replace it by hand`,
    );
  }

  /** Removes the import of a storage class if nothing else in the file uses the class. */
  private dropStorage(local: string | undefined): void {
    const { syntax } = this.project;
    if (local === undefined || syntax.uses(this.file, local).length > 1) return;
    for (const statement of this.file.source.statements) {
      if (!syntax.ts.isImportDeclaration(statement)) continue;
      const module = (statement.moduleSpecifier as ts.StringLiteral).text;
      const imported = this.file.imports.from(module).find((found) => found.local === local);
      if (imported) this.file.imports.drop(module, imported.name);
    }
  }
}

/** Formats a number as code, such as 60_000. */
export function grouped(n: number): string {
  return String(n).replaceAll(/\B(?=(\d{3})+(?!\d))/g, '_');
}
