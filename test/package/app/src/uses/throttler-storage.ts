import { Controller, Get, Module, UseGuards, type INestApplication } from '@nestjs/common';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { RateLimitThrottlerStorage, RateLimitThrottlerStorageModule } from 'luanest/rate-limit/throttler-storage';

@Controller('dogs')
@UseGuards(ThrottlerGuard)
class DogsController {
  @Get()
  find(): string {
    return 'Rex';
  }
}

@Module({
  imports: [
    ThrottlerModule.forRootAsync({
      imports: [RateLimitThrottlerStorageModule.forRoot({ deadlineMs: 5_000 })],
      inject: [RateLimitThrottlerStorage],
      useFactory: (storage: RateLimitThrottlerStorage) => ({ throttlers: [{ limit: 1, ttl: 60_000 }], storage }),
    }),
  ],
  controllers: [DogsController],
})
export class ThrottlerStorageUse {}

export async function useThrottlerStorage(_app: INestApplication, url: string): Promise<string> {
  const first = await fetch(`${url}/dogs`);
  const second = await fetch(`${url}/dogs`);
  return `route answered ${first.status}, ${second.status}`;
}
