import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { CanActivate, ExecutionContext, OnModuleInit, Type } from '@nestjs/common';
import { ContextIdFactory, type ModuleRef, type ModulesContainer } from '@nestjs/core';
import type { ScriptRegistry } from 'luanest/script-registry';
import { isObservable, lastValueFrom } from 'rxjs';
import { Checks, messageOf, SetupError, timesProvided } from '../../internal/src';
import type { ConsoleActor, ResolvedConsoleModuleOptions } from './console.options';
import { shareSecret } from './console.scripts';

const SECRET_MS = 30 * 86_400_000;
const checks = new Checks('ConsoleModule');

/**
 * Decides who may see the console and who may run actions. Calls the guards of the app and the option `actor`. Also makes the CSRF tokens
 * that requests for actions need.
 */
export class ConsoleAccess implements OnModuleInit {
  private readonly actors = new WeakMap<object, ConsoleActor>();
  private readonly made = new Map<Type<CanActivate>, CanActivate>();
  private readonly secretKey: string;

  constructor(
    private readonly options: ResolvedConsoleModuleOptions,
    private readonly moduleRef: ModuleRef,
    private readonly modules: ModulesContainer,
    private readonly registry: ScriptRegistry,
  ) {
    this.secretKey = registry.keySpace('console').tag('csrf').key('secret');
  }

  /**
   * Creates the guards that were given as a class, unless a module of the app provides the class. @throws SetupError if Nest cannot create
   * one of them
   */
  async onModuleInit(): Promise<void> {
    for (const guard of this.options.guards) {
      if (typeof guard !== 'function' || timesProvided(this.modules, guard) > 0) continue;
      try {
        this.made.set(guard, await this.moduleRef.create(guard));
      } catch (error) {
        throw new SetupError(
          `ConsoleModule: Nest could not create the guard ${guard.name}: ${messageOf(error)} Add the guard to the providers of a module that has what the guard injects.`,
          { cause: error },
        );
      }
    }
  }

  /** Calls the guards of the app one after the other. Returns false if one of them refuses the request. */
  async allows(context: ExecutionContext): Promise<boolean> {
    for (const guard of this.options.guards) {
      const instance = typeof guard === 'function' ? await this.instanceOf(guard, context) : guard;
      const allowed = instance.canActivate(context);
      if ((await (isObservable(allowed) ? lastValueFrom(allowed) : allowed)) !== true) return false;
    }
    return true;
  }

  /**
   * Calls the option `actor`, and stores the user for `actorOf`. Returns false if `actor` returns undefined or null.
   *
   * @throws InvalidOptionError if `actor` returns an invalid name or role
   */
  async identify(request: object): Promise<boolean> {
    const { actor } = this.options;
    const found = actor ? await actor(request) : ({ name: 'anonymous', role: 'read' } as const);
    if (found === undefined || found === null) return false;
    const { name, role } = checks.object('the result of actor()', found, 'an object with name and role');
    const known: ConsoleActor = {
      name: checks.id('name of the result of actor()', name, 200),
      role: checks.choice('role of the result of actor()', role, ['read', 'act']),
    };
    this.actors.set(request, known);
    return true;
  }

  /** Returns the user who sent a request. Call `identify` first. @throws SetupError if `identify` has stored no user */
  actorOf(request: object): ConsoleActor {
    const actor = this.actors.get(request);
    if (actor === undefined)
      throw new SetupError(
        'ConsoleModule: A route of the console was called without its guard, so it was refused. Call it over HTTP only.',
      );
    return actor;
  }

  mayAct({ role }: ConsoleActor): boolean {
    return role === 'act' && !this.options.readOnly;
  }

  get readOnly(): boolean {
    return this.options.readOnly;
  }

  /**
   * Returns the token that a user's requests for actions must contain (CSRF token). All processes return the same token for a user.
   */
  async tokenOf({ name }: ConsoleActor): Promise<string> {
    const args = { proposed: randomBytes(32).toString('base64url'), retentionMs: SECRET_MS };
    const secret = await this.registry.run(shareSecret, { keys: { secret: this.secretKey }, args });
    return createHmac('sha256', secret).update(name).digest('base64url');
  }

  /** Returns true if `given` is the CSRF token of this user. */
  async isToken(given: unknown, actor: ConsoleActor): Promise<boolean> {
    if (typeof given !== 'string') return false;
    const [wanted, seen] = [Buffer.from(await this.tokenOf(actor)), Buffer.from(given)];
    return wanted.length === seen.length && timingSafeEqual(wanted, seen);
  }

  private async instanceOf(guard: Type<CanActivate>, context: ExecutionContext): Promise<CanActivate> {
    const made = this.made.get(guard);
    if (made !== undefined) return made;
    if (this.moduleRef.introspect(guard).scope === undefined) return this.moduleRef.get(guard, { strict: false });
    const request = context.switchToHttp().getRequest<Record<PropertyKey, unknown>>();
    const contextId = ContextIdFactory.getByRequest(request);
    this.moduleRef.registerRequestByContextId(request, contextId);
    return this.moduleRef.resolve(guard, contextId, { strict: false });
  }
}
