import type * as ts from 'typescript';
import type { EditedFile } from './edited-file';
import type { TypeScript } from './typescript';

type FunctionLike = ts.ArrowFunction | ts.FunctionExpression | ts.MethodDeclaration;

/** Questions about the syntax tree. */
export class Syntax {
  constructor(readonly ts: TypeScript) {}

  /** All nodes below a node that are of a kind, in the order of the text. */
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

  /** Uses of an imported name: identifiers that are neither in an import nor the name of a property. */
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

  /** The call of the decorator of that name, if it is called. */
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

  /** The object that a node is, without parentheses and `as`. */
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

  /** The property of an object, by its name. */
  property(object: ts.ObjectLiteralExpression, name: string): ts.ObjectLiteralElementLike | undefined {
    return object.properties.find((property) => this.nameOf(property) === name);
  }

  /** The value of a property: of `{ a: 1 }` the 1, of `{ a }` the a. */
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

  /** The value of a number such as 60_000 or 60 * 1000; undefined for other expressions. */
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

  /** Results of a function: its expression, or those of its return statements. */
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
