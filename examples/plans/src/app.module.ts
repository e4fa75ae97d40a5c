import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RateLimitGuard, RateLimitModule } from 'luanest/rate-limit';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { ApiKeyGuard } from './api-key.guard.js';
import { rules } from './limits.js';
import { WeatherController } from './weather.controller.js';

@Module({
  imports: [
    ScriptRegistryModule.forRoot({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }),
    RateLimitModule.forRoot({ rules }),
  ],
  providers: [
    // In this order: a request is counted before its key is refused.
    { provide: APP_GUARD, useExisting: RateLimitGuard },
    { provide: APP_GUARD, useClass: ApiKeyGuard },
  ],
  controllers: [WeatherController],
})
export class AppModule {}
