import { Module } from '@nestjs/common';
import { Redis } from 'ioredis';

export const REDLOCK = 'REDLOCK';

@Module({
  providers: [
    {
      provide: Redis,
      useFactory: () => new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379'),
    },
  ],
  exports: [Redis],
})
export class RedisModule {}
