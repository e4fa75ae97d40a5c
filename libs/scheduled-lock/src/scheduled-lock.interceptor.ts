import { Inject, Injectable } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { refusalFor } from './handlers/refusals';
import { SCHEDULED_LOCK_HOST } from './scheduled-lock.decorator';
import { ScheduledLockSetupError } from './scheduled-lock.errors';
import type { ScheduledLockService } from './scheduled-lock.service';

/**
 * Runs an HTTP or RPC handler that `@ScheduledLock()` decorates under its lock. A call that does not run gets 409 if the lock is
 * held, otherwise 503; over RPC, an RpcException with the same body.
 *
 * The interceptor has no effect on scheduled methods, because Nest does not run interceptors on them.
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
    if (!run)
      throw new ScheduledLockSetupError(
        `${type.name}.${method}: ScheduledLockInterceptor is used without @ScheduledLock(). Add @ScheduledLock() to the method, or remove the interceptor from it.`,
      );
    return from(
      run.then((result) => {
        if (result.ran) return result.value;
        throw refusalFor(context.getType(), `${type.name}.${method}`, result.outcome);
      }),
    );
  }
}
