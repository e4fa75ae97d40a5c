import {
  ForbiddenException,
  Inject,
  Injectable,
  UnsupportedMediaTypeException,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ConsoleAccess } from './console.access';
import { API_HEADERS, PAGE_HEADERS } from './headers';

interface Request {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

abstract class AccessGuard implements CanActivate {
  constructor(
    @Inject(ConsoleAccess) protected readonly access: ConsoleAccess,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {}

  abstract canActivate(context: ExecutionContext): Promise<boolean>;

  /**
   * Sets the headers of the response, then calls the guards of the app and the option `actor`. Returns false if a guard refuses the
   * request. The headers come first, so that the reply to a refused request has them, too.
   */
  protected async allows(context: ExecutionContext, headers: Readonly<Record<string, string>>): Promise<boolean> {
    const response = context.switchToHttp().getResponse<unknown>();
    for (const [name, value] of Object.entries(headers)) this.host.httpAdapter.setHeader(response, name, value);
    if (!(await this.access.allows(context))) return false;
    if (await this.access.identify(context.switchToHttp().getRequest<object>())) return true;
    throw new ForbiddenException(
      'The console refused the request, because the option actor of ConsoleModule returned nobody for it. Log in first.',
    );
  }
}

/** Guard of the web page and its files. Calls the guards of the app. */
@Injectable()
export class ConsolePageGuard extends AccessGuard {
  canActivate(context: ExecutionContext): Promise<boolean> {
    return this.allows(context, PAGE_HEADERS);
  }
}

/** Guard of the HTTP API. Calls the guards of the app. Refuses requests that a page of another site sends. */
@Injectable()
export class ConsoleApiGuard extends AccessGuard {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (!(await this.allows(context, API_HEADERS))) return false;
    const { headers } = context.switchToHttp().getRequest<Request>();
    const from = headers['sec-fetch-site'];
    if (from === undefined || from === 'same-origin' || from === 'none') return true;
    throw new ForbiddenException(
      'The console refused the request, because another site has sent it. Only the page of the console may call its API.',
    );
  }
}

/** Guard of actions. Runs after ConsoleApiGuard. Requires the role `act`, and a request from the page of the console itself. */
@Injectable()
export class ConsoleActGuard implements CanActivate {
  constructor(@Inject(ConsoleAccess) private readonly access: ConsoleAccess) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const { headers } = request;
    const actor = this.access.actorOf(request);
    if (this.access.readOnly) {
      throw new ForbiddenException('The console is read-only: the option readOnly of ConsoleModule is true.');
    }
    if (!this.access.mayAct(actor))
      throw new ForbiddenException(
        'Your role lets you read, but not run actions. Ask somebody with a role that may act.',
      );
    if (!isOwnOrigin(headers)) {
      throw new ForbiddenException(
        'The console did not run the action, because another site has sent the request. Run it from the page of the console.',
      );
    }
    if (!String(headers['content-type']).toLowerCase().startsWith('application/json')) {
      throw new UnsupportedMediaTypeException(
        'The body of the request is not JSON. Send it with Content-Type: application/json.',
      );
    }
    if (await this.access.isToken(headers['x-luanest-console'], actor)) return true;
    throw new ForbiddenException('The token of the page is invalid or has expired. Reload the page.');
  }
}

/**
 * Returns true if a page of the console's own origin sent the request. Every browser sends `sec-fetch-site` or `origin`, so a request
 * without both headers is refused.
 */
function isOwnOrigin(headers: Request['headers']): boolean {
  const { origin, host } = headers;
  const from = headers['sec-fetch-site'];
  if (from !== undefined) return from === 'same-origin';
  return typeof origin === 'string' && URL.canParse(origin) && new URL(origin).host === host;
}
