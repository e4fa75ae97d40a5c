import { Module } from '@nestjs/common';
import { Redis } from 'ioredis';
import Redlock from 'redlock';

export const REDLOCK = 'REDLOCK';

@Module({
  providers: [
    {
      provide: Redis,
      useFactory: () => new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379'),
    },
    {
      provide: REDLOCK,
      inject: [Redis],
      useFactory: (client: Redis) => new Redlock([client], { retryCount: 0 }),
    },
  ],
  exports: [Redis, REDLOCK],
})
export class RedisModule {}
