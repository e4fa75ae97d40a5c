import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RateLimitGuard, RateLimitModule } from 'luanest/rate-limit';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { CatsController } from './cats.controller';

@Module({
  imports: [
    ScriptRegistryModule.forRoot({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }),
    // One limit for everything.
    RateLimitModule.forRoot({ rules: [
      {
        name: 'default',
        windowMs: 60000,
        limit: 5,
      },
    ] }),
  ],
  controllers: [CatsController],
  providers: [
    {
      provide: APP_GUARD,
      useClass: RateLimitGuard,
    },
  ],
})
export class AppModule {}
