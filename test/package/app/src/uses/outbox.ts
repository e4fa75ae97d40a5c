import { Module, type INestApplicationContext } from '@nestjs/common';
import { OutboxModule, OutboxService } from 'luanest/outbox';

/** There is no PostgreSQL here: the statements are only noted. */
const noted: string[][] = [];
const query = async (_sql: string, params: string[]): Promise<unknown[]> => {
  noted.push(params);
  return Promise.resolve([]);
};

@Module({ imports: [OutboxModule.forRoot({ database: { transaction: (work) => work(query) } })] })
export class OutboxUse {}

export async function useOutbox(app: INestApplicationContext): Promise<string> {
  const { id } = await app.get(OutboxService).schedule(query, 'order.expire', { orderId: 'o1' });
  return `a row for ${noted.find((params) => params[0] === id)?.[2]}`;
}
