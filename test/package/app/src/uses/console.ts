import { Module, type CanActivate, type ExecutionContext, type INestApplication } from '@nestjs/common';
import { ConsoleModule } from 'luanest/console';

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
  const me = (await (await fetch(`${url}/console/api/me`, { headers })).json()) as { actor: string; role: string };
  const overview = await fetch(`${url}/console/api/overview`, { headers });
  return `${refused.status} for nobody, ${me.actor} may ${me.role}, overview ${overview.status}`;
}
