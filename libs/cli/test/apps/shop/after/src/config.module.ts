import { Injectable, Module } from "@nestjs/common";

@Injectable()
export class LimitsConfig {
  readonly burst = 3;
  readonly steadyMinutes = 10;
}

@Module({ providers: [LimitsConfig], exports: [LimitsConfig] })
export class ConfigModule {}
