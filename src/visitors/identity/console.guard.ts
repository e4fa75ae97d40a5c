import { type ExecutionContext, Injectable } from '@nestjs/common';
import { AdminGuard, type AdminToken } from './admin.guard';

interface Reply {
  header(name: string, value: string): unknown;
}

/** Who signed in to the console: browsers ask for a name, which operators choose, and for a password, which is the admin token. */
function signInOf(request: unknown): { readonly name: string; readonly password: string } | undefined {
  const { authorization } = (request as { headers?: { authorization?: unknown } }).headers ?? {};
  const code = typeof authorization === 'string' ? /^Basic +(\S+)$/i.exec(authorization)?.[1] : undefined;
  if (code === undefined) return undefined;
  const [name = '', ...password] = Buffer.from(code, 'base64').toString().split(':');
  return { name, password: password.join(':') };
}

/** Returns the operator of a request to the console, who may act; undefined without the admin token. */
export function operatorOf(
  request: unknown,
  token: AdminToken,
): { readonly name: string; readonly role: 'act' } | undefined {
  const { name = '', password = '' } = signInOf(request) ?? {};
  return token.is(password) ? { name: name || 'operator', role: 'act' } : undefined;
}

// See DECISIONS.md: console-takes-the-token-as-password
/**
 * Guard of the console. Only its routes take the token from Basic authentication, which browsers send by themselves: the console
 * refuses requests that other sites start, and the admin routes do not check that.
 */
@Injectable()
export class ConsoleGuard extends AdminGuard {
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    try {
      return await super.canActivate(context);
    } catch (error) {
      context.switchToHttp().getResponse<Reply>().header('www-authenticate', 'Basic realm="console", charset="UTF-8"');
      throw error;
    }
  }

  protected override isRight(request: object): boolean {
    return operatorOf(request, this.token) !== undefined;
  }
}
