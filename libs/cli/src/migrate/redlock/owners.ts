import type * as ts from 'typescript';
import type { EditedFile } from '../code/edited-file';
import type { Project } from '../code/project';
import { DEFAULT_RETRIES, retriesOf, type Retries } from './calls';

export const REDLOCK = 'redlock';

/** A class that has a Redlock object. */
export interface Owner {
  /** Code with which the class reads its Redlock object, such as `this.redlock`. */
  readonly name: string;
  readonly type: ts.ClassDeclaration;
  /** Parameter of the constructor that receives the object. Absent if the class creates the object itself. */
  readonly parameter?: ts.ParameterDeclaration;
  /** Property that holds the object; `assignment` is the statement that sets it. */
  readonly property?: ts.PropertyDeclaration;
  readonly assignment?: ts.ExpressionStatement;
  readonly made?: ts.NewExpression;
}

/** A Nest provider whose definition contains `new Redlock(...)`. */
export interface Provider {
  readonly file: EditedFile;
  readonly object: ts.ObjectLiteralExpression;
  /** Code of `provide` in the provider. */
  readonly token: string;
  readonly made: ts.NewExpression;
}

/** Finds the classes and providers that have or create Redlock objects. */
export class Owners {
  constructor(private readonly project: Project) {}

  private local(file: EditedFile): string | undefined {
    return file.imports.local(REDLOCK, 'default') ?? file.imports.local(REDLOCK, 'Redlock');
  }

  /** Returns the expressions `new Redlock(...)` inside a node. */
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

  /** Returns the code of a parameter's injection token: the argument of @Inject(), or else the type. */
  tokenOf(parameter: ts.ParameterDeclaration): string {
    return this.injectOf(parameter)?.arguments[0]?.getText() ?? parameter.type?.getText() ?? '';
  }

  injectOf(parameter: ts.ParameterDeclaration): ts.CallExpression | undefined {
    return this.project.syntax.decorator(parameter, 'Inject');
  }

  /** Returns the number of servers of a Redlock object; undefined if it cannot be read from the code. */
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
