import type * as ts from 'typescript';
import type { EditedFile } from '../code/edited-file';
import { addBefore, registryModule } from '../code/nest-modules';
import type { Project } from '../code/project';
import type { Migration } from '../migration';
import { Decorators } from './decorators';
import { factoryOf, moduleCall, redisOfStorage, throttlerNames } from './module-calls';
import { Rules, THROTTLER } from './rules';

const RATE_LIMIT = 'luanest/rate-limit';

/** Names of @nestjs/throttler that are simply replaced by names of luanest/rate-limit. */
const RENAMED: Readonly<Record<string, string>> = {
  ThrottlerGuard: 'RateLimitGuard',
  ThrottlerException: 'RateLimitException',
  ThrottlerModuleOptions: 'RateLimitModuleOptions',
};

const OVERRIDES: Readonly<Record<string, string>> = {
  getTracker: 'Replace getTracker with the option `subject` of the rules',
  shouldSkip: 'Replace shouldSkip with the option `skip` of the rules',
  throwThrottlingException: 'Replace throwThrottlingException with the option `responses` of the module',
  getErrorMessage: 'Replace getErrorMessage with the option `responses: { problem }` of the module',
  getRequestResponse:
    'Remove getRequestResponse for GraphQL and WebSocket, which are built in. For other kinds, use the option `contexts` of the module',
  generateKey:
    'Remove generateKey, which has no equivalent: the `name` and the `subject` of a rule identify its counter',
};

/** Codemod `luanest migrate throttler`: replaces @nestjs/throttler by luanest/rate-limit. */
export const throttler: Migration = {
  guide: 'from-throttler.md',
  afterwards: ['npm install luanest ioredis', 'npm uninstall @nestjs/throttler'],
  migrate(project) {
    const files = project.importing(THROTTLER);
    const names = throttlerNames(project, files);
    for (const file of files) new ThrottlerFile(file, project).convert(names);
  },
};

class ThrottlerFile {
  private readonly rules: Rules;
  /** Names whose imports must stay, because a use could not be converted. */
  private readonly kept = new Set<string>();

  constructor(
    private readonly file: EditedFile,
    private readonly project: Project,
  ) {
    this.rules = new Rules(file, project);
  }

  convert(names: ReadonlySet<string> | undefined): void {
    const decorators = new Decorators(this.file, this.project, names);
    decorators.convert();
    for (const name of decorators.kept) this.kept.add(name);
    const imported = this.file.imports.from(THROTTLER);
    for (const { name, local } of imported) this.convertUses(name, local);
    for (const { name } of imported) if (!this.kept.has(name)) this.file.imports.drop(THROTTLER, name);
  }

  private convertUses(name: string, local: string): void {
    const uses = this.project.syntax.uses(this.file, local);
    if (name === 'ThrottlerModule') return this.moduleUses(uses);
    if (RENAMED[name] !== undefined) return this.rename(name, RENAMED[name], uses);
    if (name === 'Throttle' || name === 'SkipThrottle') return;
    if (/^(seconds|minutes|hours|days|weeks)$/.test(name)) return this.durations(name, uses);
    for (const use of uses)
      this.file.note(
        use,
        'must',
        `${name} has no equivalent in luanest/rate-limit that this program knows. Convert it by hand`,
      );
    if (uses.length > 0) this.kept.add(name);
  }

  private rename(name: string, to: string, uses: readonly ts.Identifier[]): void {
    for (const use of uses) {
      if (this.project.syntax.ts.isExpressionWithTypeArguments(use.parent)) {
        this.kept.add(name);
        this.noteSubclass(use);
        continue;
      }
      if (name === 'ThrottlerException')
        this.file.note(
          use,
          'check',
          'RateLimitException has another body (RFC 9457). The option `responses: { problem: false }` of the module restores the body of Nest',
        );
      this.file.imports.want(RATE_LIMIT, to, name === 'ThrottlerModuleOptions');
      this.file.replace(use, to);
    }
  }

  private noteSubclass(use: ts.Identifier): void {
    const type = use.parent.parent.parent as ts.ClassDeclaration;
    const known = type.members
      .map((member) => OVERRIDES[member.name?.getText() ?? ''])
      .filter((text) => text !== undefined);
    const becomes = known.length > 0 ? ` ${known.join('; ')}.` : '';
    this.file.note(
      use,
      'must',
      `RateLimitGuard cannot have subclasses.${becomes} Until that is done, use --storage-only`,
    );
  }

  private durations(name: string, uses: readonly ts.Identifier[]): void {
    for (const use of uses) {
      const edits = this.rules.durations(use.parent);
      this.file.add(...edits);
      if (edits.length === 0) this.kept.add(name);
    }
  }

  private moduleUses(uses: readonly ts.Identifier[]): void {
    const { ts } = this.project.syntax;
    for (const use of uses) {
      const call = use.parent.parent;
      const method = ts.isCallExpression(call) ? moduleCall(call, use.text) : undefined;
      if (method !== undefined && !this.moduleCall(call as ts.CallExpression, method)) {
        this.kept.add('ThrottlerModule');
        const text = `The throttlers of this call of ${method} are not a literal list. Move the list into the call, then run luanest migrate again`;
        this.file.note(use, 'must', text);
        continue;
      }
      this.file.imports.want(RATE_LIMIT, 'RateLimitModule');
      this.file.replace(use, 'RateLimitModule');
    }
  }

  private moduleCall(call: ts.CallExpression, method: string): boolean {
    const { syntax } = this.project;
    const [given] = call.arguments;
    const factory = method === 'forRoot' ? undefined : factoryOf(this.project, syntax.object(given));
    const results = method === 'forRoot' ? [given] : factory ? syntax.results(factory) : [];
    const converted = results.map((result) => this.rules.options(result));
    if (converted.length === 0 || converted.includes(false)) return false;
    addRegistry(this.file, this.project, call);
    this.file.note(
      call,
      'check',
      'Throttler counted each route separately, and blocked a client for a whole ttl. A rule of the module counts all routes together, and blocks nobody ' +
        'unless `blockMs` is set. Raise its limit, or put @RateLimit on routes',
    );
    return true;
  }
}

/** Adds ScriptRegistryModule before `call` in a list of `imports`. Uses the Redis address of the storage in `call`, if it can be read. */
export function addRegistry(file: EditedFile, project: Project, call: ts.CallExpression): void {
  const options = redisOfStorage(project, call);
  const registry = registryModule(project, options);
  addBefore(file, call, registry);
  if (registry.length > 0 && options === undefined)
    file.note(call, 'check', 'ScriptRegistryModule was added. Set its `url` to your Redis');
}
