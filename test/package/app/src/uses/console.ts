import { Module, type CanActivate, type ExecutionContext, type INestApplication } from '@nestjs/common';
import { ConsoleModule } from 'luanest/console';

interface Me {
  readonly actor: string;
  readonly role: string;
  readonly sections: readonly unknown[];
}

const nameOf = (request: unknown): string | undefined =>
  (request as { headers: Record<string, string | undefined> }).headers['x-operator'];

class OperatorGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return nameOf(context.switchToHttp().getRequest()) !== undefined;
  }
}

@Module({
  imports: [
    ConsoleModule.forRoot({
      guard: OperatorGuard,
      actor: (request) => ({ name: nameOf(request) ?? '', role: 'read' }),
    }),
  ],
})
export class ConsoleUse {}

export async function useConsole(_app: INestApplication, url: string): Promise<string> {
  const refused = await fetch(`${url}/console/api/me`);
  const headers = { 'x-operator': 'ann' };
  const me = (await (await fetch(`${url}/console/api/me`, { headers })).json()) as Me;
  const overview = await fetch(`${url}/console/api/overview`, { headers });
  const sees = `${me.actor} may ${me.role} ${me.sections.length} sections`;
  const page = await fetch(`${url}/console/`, { headers });
  return `${refused.status} for nobody, ${sees}, overview ${overview.status}, page ${page.status}`;
}
