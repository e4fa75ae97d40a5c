import { Catch, type ArgumentsHost } from '@nestjs/common';
import { BaseRpcExceptionFilter } from '@nestjs/microservices';
import { throwError, type Observable } from 'rxjs';
import { StreamContext } from './transport.context';

/**
 * Passes what the handler of an event throws to StreamServer as it is: an error with its text, or an outcome of `retryLater` or
 * `deadLetter`. Without this filter, Nest replaces all but an RpcException by "Internal server error". For requests it does what Nest does.
 * Bind it to controllers with `@UseFilters(StreamExceptionFilter)`.
 */
@Catch()
export class StreamExceptionFilter extends BaseRpcExceptionFilter<unknown> {
  /** @returns an Observable that throws the exception, or the error that Nest makes of it */
  override catch(exception: unknown, host: ArgumentsHost): Observable<never> {
    const context: unknown = host.switchToRpc().getContext();
    if (context instanceof StreamContext && context.isEvent) return throwError(() => exception);
    return super.catch(exception, host) as Observable<never>;
  }
}
