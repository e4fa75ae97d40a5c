import { Catch, type ArgumentsHost } from '@nestjs/common';
import { BaseRpcExceptionFilter } from '@nestjs/microservices';
import { throwError, type Observable } from 'rxjs';
import { StreamContext } from './transport.context';

/**
 * Exception filter for event handlers. It passes the thrown value to StreamServer unchanged: an error with its text, or the result of
 * `retryLater` or `deadLetter`. Without this filter, Nest replaces everything except an RpcException by "Internal server error". For
 * requests, the filter behaves like Nest's default filter. Bind it to controllers with `@UseFilters(StreamExceptionFilter)`.
 */
@Catch()
export class StreamExceptionFilter extends BaseRpcExceptionFilter<unknown> {
  /** @returns an Observable that throws the exception; for a request, the error that Nest's default filter makes of it */
  override catch(exception: unknown, host: ArgumentsHost): Observable<never> {
    const context: unknown = host.switchToRpc().getContext();
    if (context instanceof StreamContext && context.isEvent) return throwError(() => exception);
    return super.catch(exception, host) as Observable<never>;
  }
}
