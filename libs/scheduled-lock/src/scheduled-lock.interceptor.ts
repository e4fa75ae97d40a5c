import { Injectable, Optional } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { provided, SetupError } from '../../internal/src';
import { refusalFor } from './handlers/refusals';
import { jobNameOf, lockedMethod } from './scheduled-lock.decorator';
import { ScheduledLockService } from './scheduled-lock.service';

/**
 * Runs an HTTP or RPC handler with `@ScheduledLock()` under the handler's lock. If the handler does not run, an HTTP client gets the status
 * 409 (the lock is held) or 503 (any other reason). An RPC client gets an RpcException with the same body.
 *
 * The interceptor has no effect on scheduled methods, because Nest does not run interceptors on them.
 */
@Injectable()
export class ScheduledLockInterceptor implements NestInterceptor {
  private readonly service: ScheduledLockService;

  /** @throws SetupError if the app does not import ScheduledLockModule */
  constructor(@Optional() service?: ScheduledLockService) {
    this.service = provided(service, new.target.name, 'ScheduledLockModule.forRoot({ namespace })');
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const handler = context.getHandler();
    const where = `${context.getClass().name}.${handler.name}`;
    const lock = lockedMethod(handler);
    if (!lock)
      throw new SetupError(
        `${where}: ScheduledLockInterceptor is used without @ScheduledLock(). Add @ScheduledLock() to the method, or remove the interceptor from it.`,
      );
    const name = jobNameOf(lock.options, context.getClass().name, handler.name);
    const run = this.service.run(name, () => lastValueFrom(next.handle(), { defaultValue: undefined }));
    return from(
      run.then((result) => {
        if (result.ran) return result.value;
        throw refusalFor(context.getType(), where, result.status);
      }),
    );
  }
}
