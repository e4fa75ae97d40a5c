import type * as ts from 'typescript';
import type { EditedFile } from '../code/edited-file';
import type { Project } from '../code/project';
import { DEFAULT_RETRIES, retriesOf, type Retries } from './calls';

export const REDLOCK = 'redlock';

/** A place in the code that has a Redlock. */
export interface Owner {
  /** Such as `this.redlock`. */
  readonly name: string;
  readonly type: ts.ClassDeclaration;
  /** The parameter of the constructor that gets it. Absent: the class makes it itself. */
  readonly parameter?: ts.ParameterDeclaration;
  /** The property that holds it, and the statement that sets it. */
  readonly property?: ts.PropertyDeclaration;
  readonly assignment?: ts.ExpressionStatement;
  readonly made?: ts.NewExpression;
}

/** A provider that makes a Redlock. */
export interface Provider {
  readonly file: EditedFile;
  readonly object: ts.ObjectLiteralExpression;
  /** Text of `provide`. */
  readonly token: string;
  readonly made: ts.NewExpression;
}

/** Finds what has a Redlock in a project. */
export class Owners {
  constructor(private readonly project: Project) {}

  private local(file: EditedFile): string | undefined {
    return file.imports.local(REDLOCK, 'default') ?? file.imports.local(REDLOCK, 'Redlock');
  }

  /** `new Redlock(...)` below a node. */
  made(file: EditedFile, below: ts.Node): ts.NewExpression[] {
    const { syntax } = this.project;
    const local = this.local(file);
    return syntax.all(below, syntax.ts.isNewExpression).filter(({ expression }) => expression.getText() === local);
  }

  providers(): Provider[] {
    const { syntax } = this.project;
    return this.project.importing(REDLOCK).flatMap((file) =>
      syntax.all(file.source, syntax.ts.isObjectLiteralExpression).flatMap((object) => {
        const token = syntax.value(object, 'provide')?.getText();
        const [made] = token === undefined ? [] : this.made(file, object);
        return token !== undefined && made ? [{ file, object, token, made }] : [];
      }),
    );
  }

  of(file: EditedFile): Owner[] {
    const { syntax } = this.project;
    const { ts } = syntax;
    const local = this.local(file);
    if (local === undefined) return [];
    return syntax.classes(file.source).flatMap((type): Owner[] => {
      const constructor = type.members.find(ts.isConstructorDeclaration);
      const parameters = constructor?.parameters.filter((parameter) => parameter.type?.getText() === local) ?? [];
      const injected = parameters.map((parameter) => ({ name: `this.${parameter.name.getText()}`, type, parameter }));
      const properties = type.members.filter(ts.isPropertyDeclaration).flatMap((property): Owner[] => {
        const name = `this.${property.name.getText()}`;
        const assignment = constructor?.body?.statements
          .filter(ts.isExpressionStatement)
          .find(({ expression }) => ts.isBinaryExpression(expression) && expression.left.getText() === name);
        const [made] = [property, ...(assignment ? [assignment] : [])].flatMap((node) => this.made(file, node));
        return made ? [{ name, type, property, made, ...(assignment ? { assignment } : {}) }] : [];
      });
      return [...injected, ...properties];
    });
  }

  /** The token that a parameter is injected by. */
  tokenOf(parameter: ts.ParameterDeclaration): string {
    return this.injectOf(parameter)?.arguments[0]?.getText() ?? parameter.type?.getText() ?? '';
  }

  injectOf(parameter: ts.ParameterDeclaration): ts.CallExpression | undefined {
    return this.project.syntax.decorator(parameter, 'Inject');
  }

  /** Number of servers of a Redlock; undefined if they are not written out. */
  servers(made: ts.NewExpression): number | undefined {
    const list = this.project.syntax.array(made.arguments?.[0]);
    return list?.elements.some((element) => this.project.syntax.ts.isSpreadElement(element)) === true
      ? undefined
      : list?.elements.length;
  }

  retries(made: ts.NewExpression | undefined): Retries {
    return retriesOf(this.project, made?.arguments?.[1], DEFAULT_RETRIES) ?? { retryCount: -1, retryDelay: 0 };
  }
}
