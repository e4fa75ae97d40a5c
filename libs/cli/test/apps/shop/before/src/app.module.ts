import { Module } from "@nestjs/common";
import { ThrottlerModule, type ThrottlerModuleOptions, seconds, minutes } from "@nestjs/throttler";
import { ConfigModule, LimitsConfig } from "./config.module";
import { OrdersController } from "./orders.controller";
import { ProductsController } from "./products.controller";

@Module({
  imports: [
    ConfigModule,
    ThrottlerModule.forRootAsync({
      imports: [ConfigModule],
      inject: [LimitsConfig],
      useFactory: (config: LimitsConfig): ThrottlerModuleOptions => ({
        throttlers: [
          { name: "burst", limit: config.burst, ttl: seconds(30) },
          { name: "steady", limit: 20, ttl: minutes(config.steadyMinutes), blockDuration: minutes(5) },
        ],
      }),
    }),
  ],
  controllers: [OrdersController, ProductsController],
})
export class AppModule {}
