import { Controller, Module, type INestApplication } from '@nestjs/common';
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { StreamConsumerService } from 'luanest/stream-consumer';
import { StreamClient, StreamServer } from 'luanest/transport';
import { lastValueFrom } from 'rxjs';

let note: ((sum: number) => void) | undefined;
const noted = new Promise<number>((resolve) => (note = resolve));

@Controller()
class Sums {
  @MessagePattern('sum')
  sum(@Payload() [a, b]: [number, number]): number {
    return a + b;
  }

  @EventPattern('summed')
  summed(@Payload() sum: number): void {
    note?.(sum);
  }
}

@Module({ controllers: [Sums] })
export class TransportUse {}

export async function useTransport(app: INestApplication): Promise<string> {
  const streams = app.get(StreamConsumerService);
  app.connectMicroservice({ strategy: new StreamServer({ streams, group: 'sums' }) });
  await app.startAllMicroservices();
  const client = new StreamClient({ streams });
  const sum = await lastValueFrom(client.send<number>('sum', [1, 2]));
  await lastValueFrom(client.emit('summed', sum));
  const line = `the sum is ${sum}, and ${await noted} was noted`;
  client.close();
  return line;
}
