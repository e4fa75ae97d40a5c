import { Module } from "@nestjs/common";
import { ScriptRegistryModule } from "luanest/script-registry";
import { RateLimitModule, type RateLimitModuleOptions } from "luanest/rate-limit";
import { ConfigModule, LimitsConfig } from "./config.module";
import { OrdersController } from "./orders.controller";
import { ProductsController } from "./products.controller";

@Module({
  imports: [
    ConfigModule,
    ScriptRegistryModule.forRoot({ url: process.env.REDIS_URL ?? "redis://127.0.0.1:6379" }),
    RateLimitModule.forRootAsync({
      imports: [ConfigModule],
      inject: [LimitsConfig],
      useFactory: (config: LimitsConfig): RateLimitModuleOptions => ({
        rules: [
          { name: "burst", limit: config.burst, windowMs: 30_000 },
          { name: "steady", limit: 20, windowMs: config.steadyMinutes * 60_000, blockMs: 300_000 },
        ],
      }),
    }),
  ],
  controllers: [OrdersController, ProductsController],
})
export class AppModule {}
