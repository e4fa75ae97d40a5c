import { randomUUID } from 'node:crypto';
import { Body, ConflictException, Controller, Get, NotFoundException, Param, Post } from '@nestjs/common';
import { DelayedTask, DelayedTaskService } from 'luanest/delayed-task';
import { Idempotent } from 'luanest/once';
import { OutboxService } from 'luanest/outbox';
import { Database } from './database.js';
import { cancelUnpaid, orderPlaced } from './messages.js';

const PAY_WITHIN_MS = Number(process.env.PAY_WITHIN_MS ?? 60_000);

@Controller('orders')
export class OrdersController {
  constructor(
    private readonly database: Database,
    private readonly outbox: OutboxService,
    private readonly tasks: DelayedTaskService,
  ) {}

  /** A request that is repeated with its `Idempotency-Key` gets the first response, and makes no second order. */
  @Post()
  @Idempotent()
  async place(@Body() { email, cents }: { email: string; cents: number }): Promise<{ orderId: string }> {
    const orderId = randomUUID();
    // Order, message and task happen together, or none of them does.
    await this.database.transaction(async (query) => {
      await query("INSERT INTO orders VALUES ($1, $2, $3, 'open')", [orderId, email, String(cents)]);
      await this.outbox.publish(query, orderPlaced, { orderId, email });
      await this.outbox.schedule(query, cancelUnpaid, { orderId }, { id: orderId, delayMs: PAY_WITHIN_MS });
    });
    this.outbox.wake();
    return { orderId };
  }

  @Post(':id/payment')
  async pay(@Param('id') orderId: string): Promise<{ status: string }> {
    if (!(await this.leaveOpen(orderId, 'paid'))) throw new ConflictException('This order is not open');
    await this.tasks.cancel(orderId);
    return { status: 'paid' };
  }

  @Get(':id')
  async show(@Param('id') orderId: string): Promise<{ status?: string }> {
    const { rows } = await this.database.query('SELECT status FROM orders WHERE id = $1', [orderId]);
    if (rows[0] === undefined) throw new NotFoundException();
    return rows[0];
  }

  @DelayedTask(cancelUnpaid)
  async cancel({ orderId }: { orderId: string }): Promise<void> {
    await this.leaveOpen(orderId, 'cancelled');
  }

  /** The database decides if the payment or the cancellation comes first. A repeat changes nothing. */
  private async leaveOpen(orderId: string, status: 'paid' | 'cancelled'): Promise<boolean> {
    const sql = "UPDATE orders SET status = $2 WHERE id = $1 AND status = 'open'";
    const { rowCount } = await this.database.query(sql, [orderId, status]);
    return rowCount === 1;
  }
}
