import { ForbiddenException, Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { RateLimitGuard } from 'luanest/rate-limit';
import { isObservable, lastValueFrom } from 'rxjs';
import { optionalProvider } from './optional-provider';
import { RED_PACKET_OPTIONS } from './red-packet.tokens';
import type { ResolvedRedPacketModuleOptions } from './red-packet.options';

/** Guard of the admin routes: calls the guard of the option `adminGuard`. Without that option, all requests get 403. */
@Injectable()
export class RedPacketAdminGuard implements CanActivate {
  private guard: Promise<CanActivate> | undefined;

  constructor(
    @Inject(RED_PACKET_OPTIONS) private readonly options: ResolvedRedPacketModuleOptions,
    private readonly moduleRef: ModuleRef,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { adminGuard } = this.options;
    if (adminGuard === undefined) {
      throw new ForbiddenException(
        'The admin routes of red packets are closed, because RedPacketModule has no adminGuard. Set the option adminGuard to a guard that lets your admins pass.',
      );
    }
    const guard =
      typeof adminGuard === 'function' ? await (this.guard ??= this.moduleRef.create(adminGuard)) : adminGuard;
    const allowed = guard.canActivate(context);
    return (await (isObservable(allowed) ? lastValueFrom(allowed) : allowed)) === true;
  }
}

/** Guard of the grab route: applies the rules of the app's RateLimitModule. Without that module, it allows every request. */
@Injectable()
export class RedPacketGrabGuard implements CanActivate {
  private limits: RateLimitGuard | 'none' | undefined;

  constructor(
    private readonly moduleRef: ModuleRef,
    private readonly modules: ModulesContainer,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    // The app may import RateLimitModule after this module, so its guard is searched at the first request.
    this.limits ??= optionalProvider(this.modules, this.moduleRef, RateLimitGuard) ?? 'none';
    return this.limits === 'none' || this.limits.canActivate(context);
  }
}
