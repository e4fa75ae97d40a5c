import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { ThrottlerModule } from '@nestjs/throttler'
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
    ThrottlerModule.forRoot({
      throttlers: [{ ttl: 60000, limit: 2 }],
      errorMessage: 'Too many',
    }),
  ],
  controllers: [AppController],
  providers: [{ provide: APP_GUARD, useClass: BehindProxyGuard }],
})
export class AppModule {}
