import { ForbiddenException, Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { RateLimitGuard } from 'luanest/rate-limit';
import { isObservable, lastValueFrom } from 'rxjs';
import { optionalProvider } from './optional-provider';
import { RED_PACKET_OPTIONS } from './red-packet.tokens';
import type { ResolvedRedPacketOptions } from './red-packet.options';

/** Lets a request to an admin route pass when the guard that the app configured does; closed without one. */
@Injectable()
export class RedPacketAdminGuard implements CanActivate {
  private guard: Promise<CanActivate> | undefined;

  constructor(
    @Inject(RED_PACKET_OPTIONS) private readonly options: ResolvedRedPacketOptions,
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
    const answer = guard.canActivate(context);
    return (await (isObservable(answer) ? lastValueFrom(answer) : answer)) === true;
  }
}

/** Puts the limits of the app's RateLimitModule before grabs; lets all pass where the app has none. */
@Injectable()
export class RedPacketGrabGuard implements CanActivate {
  private limits: RateLimitGuard | 'none' | undefined;

  constructor(
    private readonly moduleRef: ModuleRef,
    private readonly modules: ModulesContainer,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    // At the first request, since the module may be imported before or after this one.
    this.limits ??= optionalProvider(this.modules, this.moduleRef, RateLimitGuard) ?? 'none';
    return this.limits === 'none' || this.limits.canActivate(context);
  }
}
