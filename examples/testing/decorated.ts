import { Controller, Get, Injectable, Post, UseGuards } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Idempotent, Once } from 'luanest/once';
import { RateLimit, RateLimitGuard } from 'luanest/rate-limit';
import { ScheduledLock } from 'luanest/scheduled-lock';
import { StreamConsumer, type StreamMessage } from 'luanest/stream-consumer';

/** Classes with decorators and guards of luanest. Their tests are in decorated.test.ts. */

@Injectable()
export class Jobs {
  built = 0;

  @Cron('0 3 * * *')
  @ScheduledLock()
  build(): string | Promise<string> {
    this.built += 1;
    return 'built';
  }
}

@Injectable()
export class Pusher {
  @Once({ id: (message: { id: string }) => message.id })
  on(message: { id: string }): string | Promise<string> {
    return `pushed ${message.id}`;
  }
}

@Injectable()
export class Mails {
  readonly sent: string[] = [];

  @StreamConsumer({ stream: 'orders', group: 'mails' })
  send(message: StreamMessage<{ readonly id: string }>): void {
    this.sent.push(message.payload.id);
  }
}

@Controller('cats')
@UseGuards(RateLimitGuard)
export class CatsController {
  @Get()
  @RateLimit({ limit: 5, windowMs: 60_000 })
  list(): string[] {
    return ['Tom'];
  }
}

@Controller('orders')
export class Orders {
  private placed = 0;

  @Post()
  @Idempotent()
  place(): string {
    return `order ${++this.placed}`;
  }
}
