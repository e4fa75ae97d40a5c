import type * as ts from 'typescript';
import type { EditedFile } from '../code/edited-file';
import type { Project } from '../code/project';
import { Rules, THROTTLER } from './rules';

const HANDLERS =
  /^(Get|Post|Put|Patch|Delete|Options|Head|All|Search|Sse|Query|Mutation|Subscription|ResolveField|SubscribeMessage|MessagePattern|EventPattern)$/;

/** Converts @Throttle() and @SkipThrottle(). */
export class Decorators {
  /** Decorators whose imports must stay, because a use could not be converted. */
  readonly kept = new Set<string>();
  private readonly rules: Rules;

  /** @param names names of the module's rules; undefined if they cannot be read from the code */
  constructor(
    private readonly file: EditedFile,
    private readonly project: Project,
    private readonly names: ReadonlySet<string> | undefined,
  ) {
    this.rules = new Rules(file, project);
  }

  convert(): void {
    const { syntax } = this.project;
    for (const decorator of syntax.all(this.file.source, syntax.ts.isDecorator)) {
      const local = syntax.nameOfDecorator(decorator);
      const imported = this.file.imports.from(THROTTLER).find((found) => found.local === local)?.name;
      if (imported === 'Throttle') this.throttle(decorator);
      if (imported === 'SkipThrottle') this.skip(decorator);
    }
  }

  private throttle(decorator: ts.Decorator): void {
    const { syntax } = this.project;
    const call = decorator.expression as ts.CallExpression;
    const limits = syntax.object(call.arguments[0]);
    const values = limits?.properties.map((property) =>
      syntax.object(syntax.value(limits, syntax.nameOf(property) ?? '')),
    );
    if (!limits || !values || values.length === 0 || values.includes(undefined))
      return this.keep(
        'Throttle',
        decorator,
        'This @Throttle was not converted. Only @Throttle({ name: { limit, ttl } }) can be converted',
      );
    const rules = values as ts.ObjectLiteralExpression[];
    if (rules.some((rule) => !syntax.property(rule, 'ttl') || !syntax.property(rule, 'limit')))
      return this.keep(
        'Throttle',
        decorator,
        '@RateLimit needs both limit and ttl. Copy the missing one from the ThrottlerModule to this @Throttle, then run luanest migrate again',
      );
    const owner = decorator.parent;
    this.want(limits);
    if (syntax.ts.isClassDeclaration(owner)) return this.throttleClass(decorator, owner, limits, rules);
    const lines = this.lines(limits, rules, routeOf(owner as ts.MethodDeclaration));
    this.file.replace(decorator, lines.join(`\n${this.file.indentAt(decorator.getStart())}`));
  }

  /**
   * Converts @Throttle() of a class. Throttler counts the requests of each route separately, but a rule of a class would count them
   * together.
   */
  private throttleClass(
    decorator: ts.Decorator,
    type: ts.ClassDeclaration,
    limits: ts.ObjectLiteralExpression,
    rules: readonly ts.ObjectLiteralExpression[],
  ): void {
    const { syntax } = this.project;
    const own = ['Throttle', 'SkipThrottle'].map((name) => this.file.imports.local(THROTTLER, name));
    for (const member of type.members) {
      const names = syntax.decorators(member).map((found) => syntax.nameOfDecorator(found));
      if (!names.some((name) => HANDLERS.test(name)) || names.some((name) => own.includes(name))) continue;
      const start = member.getStart();
      const lines = this.lines(limits, rules, routeOf(member));
      const text = lines.map((line) => `${line}\n${this.file.indentAt(start)}`).join('');
      this.file.add({ start, end: start, text });
    }
    this.file.removeLines(decorator);
  }

  private want(limits: ts.ObjectLiteralExpression): void {
    this.file.imports.want('luanest/rate-limit', 'RateLimit');
    if (this.skipped(limits).length > 0) this.file.imports.want('luanest/rate-limit', 'SkipRateLimit');
  }

  /**
   * Returns the names of the module's rules that the route replaces. Unknown names are left out, because an app that skips an unknown rule
   * does not boot.
   */
  private skipped(limits: ts.ObjectLiteralExpression): string[] {
    const names = limits.properties.map((property) => this.project.syntax.nameOf(property) ?? '');
    return names.filter((name) => this.names?.has(name) ?? true);
  }

  private lines(
    limits: ts.ObjectLiteralExpression,
    rules: readonly ts.ObjectLiteralExpression[],
    route: string,
  ): string[] {
    const texts = rules.map((rule, i) => {
      const key = this.project.syntax.nameOf(limits.properties[i] as ts.ObjectLiteralElementLike) ?? String(i);
      // A single rule gets its name from the route. If a route has several rules, each needs its own name.
      const edits = this.rules.rule(rule, rules.length === 1 ? undefined : `${route}.${key}`);
      return this.file.textWith(edits, rule.getStart(), rule.end);
    });
    const skipped = this.skipped(limits).map((name) => this.file.imports.quoted(name));
    return [
      ...(skipped.length > 0 ? [`@SkipRateLimit(${skipped.join(', ')})`] : []),
      `@RateLimit(${texts.join(', ')})`,
    ];
  }

  private skip(decorator: ts.Decorator): void {
    const { syntax } = this.project;
    const [given] = (decorator.expression as ts.CallExpression).arguments;
    const object = syntax.object(given);
    const skipped = object?.properties.filter((property) => property.getText().endsWith('true')) ?? [];
    if (given && (!object || skipped.length < object.properties.length))
      return this.keep(
        'SkipThrottle',
        decorator,
        'The class skips this rule, and a method cannot turn it on again. Remove this decorator, and put @SkipRateLimit() on the other methods instead of the class',
      );
    const names = skipped.map((property) => this.file.imports.quoted(syntax.nameOf(property) ?? ''));
    this.file.imports.want('luanest/rate-limit', 'SkipRateLimit');
    this.file.replace(decorator, `@SkipRateLimit(${names.join(', ')})`);
  }

  private keep(name: string, decorator: ts.Decorator, why: string): void {
    this.kept.add(name);
    this.file.note(decorator, 'must', why);
  }
}

/** Returns `Class.method`, which becomes part of the names of a method's rules. */
function routeOf(member: ts.ClassElement): string {
  const type = member.parent as ts.ClassDeclaration;
  return `${type.name?.text ?? 'handler'}.${member.name?.getText() ?? ''}`;
}
