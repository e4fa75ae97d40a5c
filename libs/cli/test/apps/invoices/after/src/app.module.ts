import { Module } from '@nestjs/common';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { LockModule } from 'luanest/lock';
import { InvoicesService } from './invoices.service';
import { RedisModule } from './redis.module';
import { StockService } from './stock.service';

@Module({
  imports: [
    ScriptRegistryModule.forRoot({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }),
    LockModule.forRoot(),
    RedisModule,
  ],
  providers: [InvoicesService, StockService],
})
export class AppModule {}
