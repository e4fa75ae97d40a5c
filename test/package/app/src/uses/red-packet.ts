import { Module, type CanActivate, type ExecutionContext, type INestApplication } from '@nestjs/common';
import { RedPacketModule, RedPacketService } from 'luanest/red-packet';

interface AppRequest {
  readonly headers: Record<string, string>;
}

class AdminGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.switchToHttp().getRequest<AppRequest>().headers['x-user'] === 'admin';
  }
}

@Module({
  imports: [
    RedPacketModule.forRoot({
      identity: (request) => (request as AppRequest).headers['x-user'],
      adminGuard: AdminGuard,
    }),
  ],
})
export class RedPacketUse {}

async function grab(url: string, user: string): Promise<string> {
  const response = await fetch(`${url}/red-packets/party/grab`, { method: 'POST', headers: { 'X-User': user } });
  const { status } = (await response.json()) as { status: string };
  return status;
}

export async function useRedPacket(app: INestApplication, url: string): Promise<string> {
  const packets = app.get(RedPacketService);
  await packets.create({ activityId: 'party', totalCents: 1_000, packets: 2 });
  const statuses: string[] = [];
  for (const user of ['ann', 'ann', 'bob', 'cid']) statuses.push(await grab(url, user));
  const audit = await fetch(`${url}/red-packets/party/audit?deep=true`, { headers: { 'X-User': 'admin' } });
  const { ok } = (await audit.json()) as { ok: boolean };
  return `${statuses.join(', ')}; audit ${ok ? 'ok' : 'not ok'}`;
}
