import { Module } from '@nestjs/common';
import { InvoicesService } from './invoices.service';
import { RedisModule } from './redis.module';
import { StockService } from './stock.service';

@Module({
  imports: [RedisModule],
  providers: [InvoicesService, StockService],
})
export class AppModule {}
