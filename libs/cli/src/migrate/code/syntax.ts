import type * as ts from 'typescript';
import type { EditedFile } from './edited-file';
import type { TypeScript } from './typescript';

type FunctionLike = ts.ArrowFunction | ts.FunctionExpression | ts.MethodDeclaration;

/** Functions that search the syntax tree of a file. */
export class Syntax {
  constructor(readonly ts: TypeScript) {}

  /** Returns the node `below` and its descendants, if they are of a kind, in the order of the text. */
  all<T extends ts.Node>(below: ts.Node, is: (node: ts.Node) => node is T): T[] {
    const found: T[] = [];
    const visit = (node: ts.Node): void => {
      if (is(node)) found.push(node);
      this.ts.forEachChild(node, visit);
    };
    visit(below);
    return found;
  }

  classes(below: ts.Node): ts.ClassDeclaration[] {
    return this.all(below, this.ts.isClassDeclaration);
  }

  /** Returns the uses of an imported name: identifiers with this name, except in imports and as names of properties. */
  uses(file: EditedFile, local: string): ts.Identifier[] {
    return this.all(file.source, this.ts.isIdentifier).filter((node) => node.text === local && !this.isOnlyAName(node));
  }

  private isOnlyAName(node: ts.Identifier): boolean {
    const { parent } = node;
    const { ts } = this;
    if (ts.isImportSpecifier(parent) || ts.isImportClause(parent)) return true;
    if (ts.isPropertyAccessExpression(parent)) return parent.name === node;
    if (ts.isPropertyAssignment(parent) || ts.isMethodDeclaration(parent) || ts.isPropertyDeclaration(parent))
      return parent.name === node;
    return false;
  }

  decorators(node: ts.Node): readonly ts.Decorator[] {
    return this.ts.canHaveDecorators(node) ? (this.ts.getDecorators(node) ?? []) : [];
  }

  /** Returns the decorator with this name, such as `@Cron(...)`; undefined if there is none, or if it has no parentheses. */
  decorator(node: ts.Node, name: string): ts.CallExpression | undefined {
    return this.decorators(node)
      .map(({ expression }) => expression)
      .find(
        (expression): expression is ts.CallExpression =>
          this.ts.isCallExpression(expression) && expression.expression.getText() === name,
      );
  }

  nameOfDecorator({ expression }: ts.Decorator): string {
    return (this.ts.isCallExpression(expression) ? expression.expression : expression).getText();
  }

  /** Returns a node as an object literal, without parentheses and `as`; undefined if it is something else. */
  object(node: ts.Node | undefined): ts.ObjectLiteralExpression | undefined {
    const bare = this.bare(node);
    return bare && this.ts.isObjectLiteralExpression(bare) ? bare : undefined;
  }

  array(node: ts.Node | undefined): ts.ArrayLiteralExpression | undefined {
    const bare = this.bare(node);
    return bare && this.ts.isArrayLiteralExpression(bare) ? bare : undefined;
  }

  private bare(node: ts.Node | undefined): ts.Node | undefined {
    let at = node;
    while (
      at &&
      (this.ts.isParenthesizedExpression(at) || this.ts.isAsExpression(at) || this.ts.isSatisfiesExpression(at))
    )
      at = at.expression;
    return at;
  }

  /** Returns the property of an object literal that has this name. */
  property(object: ts.ObjectLiteralExpression, name: string): ts.ObjectLiteralElementLike | undefined {
    return object.properties.find((property) => this.nameOf(property) === name);
  }

  /** Returns the value of a property: 1 for `a` of `{ a: 1 }`, and the identifier a for `a` of `{ a }`. */
  value(object: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
    const property = this.property(object, name);
    if (property && this.ts.isPropertyAssignment(property)) return property.initializer;
    return property && this.ts.isShorthandPropertyAssignment(property) ? property.name : undefined;
  }

  nameOf(property: ts.ObjectLiteralElementLike): string | undefined {
    const { name } = property;
    if (name === undefined) return undefined;
    return this.ts.isIdentifier(name) || this.ts.isStringLiteralLike(name) ? name.text : undefined;
  }

  text(node: ts.Node | undefined): string | undefined {
    return node && this.ts.isStringLiteralLike(node) ? node.text : undefined;
  }

  /** Returns the value of a numeric expression such as 60_000 or 60 * 1000; undefined for other expressions. */
  number(node: ts.Node | undefined): number | undefined {
    if (node === undefined) return undefined;
    if (this.ts.isNumericLiteral(node)) return Number(node.text.replaceAll('_', ''));
    if (this.ts.isParenthesizedExpression(node)) return this.number(node.expression);
    if (this.ts.isPrefixUnaryExpression(node) && node.operator === this.ts.SyntaxKind.MinusToken) {
      const value = this.number(node.operand);
      return value === undefined ? undefined : -value;
    }
    if (!this.ts.isBinaryExpression(node) || node.operatorToken.kind !== this.ts.SyntaxKind.AsteriskToken)
      return undefined;
    const [left, right] = [this.number(node.left), this.number(node.right)];
    return left === undefined || right === undefined ? undefined : left * right;
  }

  isFunction(node: ts.Node | undefined): node is FunctionLike {
    return (
      node !== undefined &&
      (this.ts.isArrowFunction(node) || this.ts.isFunctionExpression(node) || this.ts.isMethodDeclaration(node))
    );
  }

  /** Returns the expressions that a function returns: those of its return statements, or the body of an arrow function without braces. */
  results(work: FunctionLike): ts.Expression[] {
    const { body } = work;
    if (body === undefined) return [];
    if (!this.ts.isBlock(body)) return [body];
    const found: ts.Expression[] = [];
    const visit = (node: ts.Node): void => {
      if (this.ts.isFunctionLike(node)) return;
      if (this.ts.isReturnStatement(node) && node.expression) found.push(node.expression);
      this.ts.forEachChild(node, visit);
    };
    this.ts.forEachChild(body, visit);
    return found;
  }
}
