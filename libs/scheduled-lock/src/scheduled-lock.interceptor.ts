import { ConflictException, Inject, Injectable } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { SCHEDULED_LOCK_HOST } from './scheduled-lock.decorator';
import { ScheduledLockSetupError } from './scheduled-lock.errors';
import type { ScheduledLockService } from './scheduled-lock.service';

/**
 * Runs an HTTP or RPC handler that carries `@ScheduledLock()` under its lock, one call at a time on all nodes; a call
 * that meets another gets a 409, or its like. Not for scheduled methods: Nest runs no interceptors on them.
 */
@Injectable()
export class ScheduledLockInterceptor implements NestInterceptor {
  constructor(
    @Inject(SCHEDULED_LOCK_HOST) private readonly service: ScheduledLockService,
    private readonly modules: ModuleRef,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const type = context.getClass();
    const method = context.getHandler().name;
    const instance = this.modules.get<object>(type, { strict: false });
    const run = this.service.handle(instance, method, () => lastValueFrom(next.handle(), { defaultValue: undefined }));
    if (!run) throw new ScheduledLockSetupError(`${type.name}.${method}: there is no @ScheduledLock() on it.`);
    return from(
      run.then(({ outcome, value }) => {
        if (outcome === 'ran' || outcome === 'lost' || (outcome === 'redis-error' && value !== undefined)) return value;
        throw new ConflictException({ statusCode: 409, message: `${type.name}.${method} does not run now.`, outcome });
      }),
    );
  }
}
