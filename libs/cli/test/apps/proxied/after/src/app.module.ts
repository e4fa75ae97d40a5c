import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { ThrottlerModule } from '@nestjs/throttler'
import { ScriptRegistryModule } from 'luanest/script-registry'
import { RateLimitThrottlerStorage, RateLimitThrottlerStorageModule } from 'luanest/rate-limit/throttler-storage'
import { BehindProxyGuard } from './behind-proxy.guard'

@Controller()
export class AppController {
  @Get()
  hello() {
    return 'hello'
  }
}

@Module({
  imports: [
    ScriptRegistryModule.forRoot({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }),
    ThrottlerModule.forRootAsync({
      imports: [RateLimitThrottlerStorageModule.forRoot()],
      inject: [RateLimitThrottlerStorage],
      useFactory: (storage: RateLimitThrottlerStorage) => ({
        throttlers: [{ ttl: 60000, limit: 2 }],
        errorMessage: 'Too many',
        storage,
      }),
    }),
  ],
  controllers: [AppController],
  providers: [{ provide: APP_GUARD, useClass: BehindProxyGuard }],
})
export class AppModule {}
