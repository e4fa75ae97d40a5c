import type { Redis } from 'ioredis';
import { freePort } from './free-port';
import { Pulse } from './pulse';
import { eventually } from './wait';

it('stops while its client waits to reconnect', async () => {
  const pulse = new Pulse(`redis://127.0.0.1:${await freePort()}`, { everyMs: 300 });
  const { client } = pulse as unknown as { client: Redis };
  await eventually(() => expect(client.status).toBe('reconnecting'), { everyMs: 1 });
  await pulse.stop();
});
