import { ForbiddenException, Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { RateLimitGuard } from 'luanest/rate-limit';
import { isObservable, lastValueFrom } from 'rxjs';
import { optionalProvider } from './optional-provider';
import { RED_PACKET_OPTIONS } from './red-packet.tokens';
import type { ResolvedRedPacketModuleOptions } from './red-packet.options';

/** Applies the app's `adminGuard` to admin routes. Without one it refuses every request. */
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
        'Admin routes are closed. Configure adminGuard in RedPacketModule.forRoot() to open them.',
      );
    }
    const guard =
      typeof adminGuard === 'function' ? await (this.guard ??= this.moduleRef.create(adminGuard)) : adminGuard;
    const allowed = guard.canActivate(context);
    return (await (isObservable(allowed) ? lastValueFrom(allowed) : allowed)) === true;
  }
}

/** Applies the rules of the app's RateLimitModule to grabs. Without that module it lets every request pass. */
@Injectable()
export class RedPacketGrabGuard implements CanActivate {
  private limits: RateLimitGuard | 'none' | undefined;

  constructor(
    private readonly moduleRef: ModuleRef,
    private readonly modules: ModulesContainer,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    // Searched at the first request: RateLimitModule may be imported after this module.
    this.limits ??= optionalProvider(this.modules, this.moduleRef, RateLimitGuard) ?? 'none';
    return this.limits === 'none' || this.limits.canActivate(context);
  }
}
